package report

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// A Machine says what the figures were made on and of which code.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Java   string `json:"java,omitempty"`
	Commit string `json:"commit"` // with + when files were changed
}

// ThisMachine looks around. What it cannot find out stays empty: a figure without a kernel's name is still a figure.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.CPU = field("/proc/cpuinfo", "model name")
	m.Memory = field("/proc/meminfo", "MemTotal")
	m.Kernel = output("uname", "-r")
	m.Commit = output("git", "rev-parse", "--short", "HEAD")
	if output("git", "status", "--porcelain") != "" {
		m.Commit += "+"
	}
	return m
}

// WithJava adds the Java that the peers run on.
func (m Machine) WithJava() Machine {
	text, _ := exec.Command("java", "-version").CombinedOutput()
	m.Java, _, _ = strings.Cut(string(text), "\n")
	return m
}

// String is one line.
func (m Machine) String() string {
	line := fmt.Sprintf("%s, %d cores, %s, Linux %s, %s, commit %s", m.CPU, m.Cores, m.Memory, m.Kernel, m.Go, m.Commit)
	if m.Java != "" {
		line += ", " + m.Java
	}
	return line
}

func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func output(command ...string) string {
	text, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
