"""Talks to a program at a terminal: prompt.py SCRIPT PROGRAM [ARGUMENT...]

A line of SCRIPT is `> TEXT`, which is typed (\\n, \\x03 and the like are escapes), or `< TEXT`, which is waited for,
or `~ SECONDS`, a pause.
After Ctrl-C a line is typed before anything is waited for: the terminal may drop what the program wrote when it came.
Prints nothing and exits with the program's code, or says what did not come and exits with 99.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 50  # seconds without any output


def main():
    script, command = sys.argv[1], sys.argv[2:]
    child, terminal = pty.fork()
    if child == 0:
        # Whoever runs the tests in the background may have these ignored, and a program leaves them so.
        for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
            signal.signal(number, signal.SIG_DFL)
        os.environ["TERM"] = "vt100"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        os.execvp(command[0], command)
    seen = b""
    for line in open(script, encoding="utf-8").read().splitlines():
        if line.startswith("~"):
            time.sleep(float(line[2:]))
            continue
        text = line[2:].encode().decode("unicode_escape").encode()
        if line.startswith(">"):
            os.write(terminal, text)
            continue
        while text not in seen:
            ready, _, _ = select.select([terminal], [], [], PATIENCE)
            try:
                more = os.read(terminal, 65536) if ready else b""
            except OSError:
                more = b""
            if not more:
                print("%r did not come, but %r" % (text, seen))
                os.close(terminal)
                os.kill(child, signal.SIGKILL)
                sys.exit(99)
            seen += more
        seen = seen[seen.index(text) + len(text):]
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


main()
