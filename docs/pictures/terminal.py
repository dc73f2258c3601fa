#!/usr/bin/env python3
"""Pictures of what a terminal shows, as SVG: neovim.svg, helix.svg, and demo.svg, which moves.

    docs/pictures/terminal.py [--check] [neovim|helix|demo …]

It runs the real editors (tests/peers install nvim hx pylsp tmux) and postil (target/debug, or the folder
POSTIL_BUILT) on a small project in a temporary folder, in tmux, and draws what stands on that screen. No model is asked: the answers are the built-in ones.
With --check nothing is written: it tells where the text of a screen is another than its picture has.
"""

import difflib
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = pathlib.Path(os.environ.get("POSTIL_PEERS_DIR", ROOT / ".peers")) / "bin"
BUILT = pathlib.Path(os.environ.get("POSTIL_BUILT", ROOT / "target" / "debug"))
WIDTH, HEIGHT = 92, 22
BACK, FORE = "#1c1f26", "#d7dae0"
BASE = [
    "#2b303b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
    "#5c6370", "#ff7a85", "#b5e890", "#ffd68a", "#7fc4ff", "#de8cf2", "#6fd3e0", "#ffffff",
]


def colour(number):
    """One of a terminal's 256."""
    if number < 16:
        return BASE[number]
    if number > 231:
        level = 8 + 10 * (number - 232)
        return "#%02x%02x%02x" % (level, level, level)
    number -= 16
    steps = [0, 95, 135, 175, 215, 255]
    return "#%02x%02x%02x" % (steps[number // 36], steps[number // 6 % 6], steps[number % 6])


def attributes(codes, style):
    """The style after a sequence `ESC [ codes m`."""
    style = dict(style)
    codes = [int(code or 0) for code in re.split("[;:]", codes)]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (1, 3, 4, 7):
            style[{1: "bold", 3: "italic", 4: "under", 7: "swap"}[code]] = True
        elif code in (22, 23, 24, 27):
            style.pop({22: "bold", 23: "italic", 24: "under", 27: "swap"}[code], None)
        elif code in (38, 48) and codes:
            key = "fore" if code == 38 else "back"
            kind = codes.pop(0)
            if kind == 5 and codes:
                style[key] = colour(codes.pop(0))
            elif kind == 2:
                red, green, blue = (codes + [0, 0, 0])[:3]
                del codes[:3]
                style[key] = "#%02x%02x%02x" % (red, green, blue)
        elif code == 39:
            style.pop("fore", None)
        elif code == 49:
            style.pop("back", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["fore"] = BASE[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style["back"] = BASE[code - 40 if code < 100 else code - 92]
    return style


def pieces(line):
    """(column, text, style) of one captured line."""
    style, column = {}, 0
    for part in re.split("(\x1b\\[[0-9;:]*m)", line):
        if part.startswith("\x1b["):
            style = attributes(part[2:-1], style)
        elif part:
            part = re.sub("\x1b[\\]()][^\x07\x1b]*(\x07|\x1b\\\\)?", "", part)
            yield column, part, style
            column += len(part)


def frame(text):
    """The shapes of one screen."""
    shapes = []
    style_of_line = ""
    for row, line in enumerate(text.split("\n")[:HEIGHT]):
        # A style goes on over the end of a line.
        line = style_of_line + line
        codes = re.findall("\x1b\\[[0-9;:]*m", line)
        style_of_line = "".join(codes[-6:])
        top = 14 + row * 18
        for column, part, style in pieces(line):
            fore, back = style.get("fore", FORE), style.get("back")
            if style.get("swap"):
                fore, back = back or BACK, style.get("fore", FORE)
            left, width = 14 + column * 8.4, len(part) * 8.4
            if back and back != BACK:
                shapes.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="18" fill="{back}"/>')
            if part.strip():
                more = ' font-weight="bold"' if style.get("bold") else ""
                more += ' font-style="italic"' if style.get("italic") else ""
                more += ' text-decoration="underline"' if style.get("under") else ""
                shapes.append(
                    f'<text x="{left:.1f}" y="{top + 13.5}" fill="{fore}" textLength="{width:.1f}"{more}>'
                    f"{html.escape(part)}</text>"
                )
    return "\n".join(shapes)


def draw(name, screens):
    """Writes NAME.svg; several screens, each (seconds, text), are shown one after the other, over and over."""
    wide, high = 28 + WIDTH * 8.4, 28 + HEIGHT * 18
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}">',
        "<style>text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:14px;"
        "white-space:pre}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
    ]
    whole = sum(seconds for seconds, _ in screens)
    at = 0
    for number, (seconds, text) in enumerate(screens):
        if len(screens) > 1:
            begin, end = 100 * at / whole, 100 * (at + seconds) / whole
            before = f"0%{{visibility:hidden}}{begin:.3f}%" if begin else "0%"
            after = f"{end:.3f}%{{visibility:hidden}}" if end < 99.9 else ""
            # What does not move shows the last one.
            alone = "" if number == len(screens) - 1 else "visibility:hidden;"
            parts.append(
                f"<style>@keyframes f{number}{{{before}{{visibility:visible}}{after}}}"
                f"#f{number}{{{alone}animation:f{number} {whole:.1f}s step-end infinite}}</style>"
            )
        parts.append(f'<g id="f{number}">\n{frame(text)}\n</g>')
        at += seconds
    parts.append("</svg>")
    (HERE / f"{name}.svg").write_text("\n".join(parts) + "\n")
    print(f"docs/pictures/{name}.svg")


# What is another each time: ids, times, how long something took.
VARIES = [
    (r"\b[0-9a-f]{32}\b", "ID"), (r"\b[0-9a-f]{8}\b", "ID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"), (r"\b\d+(\.\d+)? m?s\b", "LONG"), (r"\b(duration_ms:) \d+", r"\1 LONG"),
    (r"/tmp/postil-demo-\w+", "FOLDER"),
]


def lines(shapes):
    """What a drawn screen says, line by line."""
    rows = {}
    for left, top, text in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', shapes):
        row = rows.setdefault(round((float(top) - 27.5) / 18), {})
        row[round((float(left) - 14) / 8.4)] = html.unescape(text)
    said = []
    for row in range(max(rows, default=-1) + 1):
        line = ""
        for column, text in sorted(rows.get(row, {}).items()):
            line = line.ljust(column) + text
        for varies, word in VARIES:
            line = re.sub(varies, word, line)
        said.append(line.rstrip())
    return said


def told(screens):
    """The lines of screens that follow each other, each once."""
    return list(dict.fromkeys(line for shapes in screens for line in lines(shapes) if line))


def differs(name, terminal, shown):
    """Whether the picture has another text; what moves is compared whole, what stands may still come to be."""
    groups = re.findall(r'<g id="f\d+">(.*?)</g>', (HERE / f"{name}.svg").read_text(), re.S)
    if isinstance(shown, list):
        picture, now = told(groups), told(frame(text) for _, text in shown)
    else:
        picture, now = lines(groups[0]), lines(frame(shown))
        for _ in range(300):
            if now == picture:
                break
            time.sleep(0.1)
            now = lines(frame(terminal.screen()))
    for line in difflib.unified_diff(picture, now, f"docs/pictures/{name}.svg", "now", lineterm="", n=0):
        print(line)
    return now != picture


class Terminal:
    """A user of their own, with one program in a terminal."""

    def __init__(self, folder):
        self.folder, self.socket = folder, str(folder / "tmux")
        environment = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "PS1": "$ "}
        for name in ("config", "data", "state", "cache"):
            environment[f"XDG_{name.upper()}_HOME"] = str(folder / name)
        environment["HOME"] = str(folder / "home")
        environment["PATH"] = f"{BUILT}:{PEERS}:{os.environ['PATH']}"
        environment["POSTIL_MODEL"] = "offline"
        self.environment = environment
        self.work = folder / "notes"
        for made in ("home", "config", "notes"):
            (folder / made).mkdir()

    def run(self, *command):
        subprocess.run(command, cwd=self.work, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def tmux(self, *arguments):
        command = [str(PEERS / "tmux"), "-u", "-f", "/dev/null", "-S", self.socket, *arguments]
        return subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True).stdout

    def start(self, command):
        self.tmux("new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), command, ";", "set", "-g", "status", "off",
                  ";", "set", "-sg", "escape-time", "0", ";", "set", "-ga", "terminal-overrides", ",*:Tc")

    def screen(self):
        return self.tmux("capture-pane", "-e", "-N", "-p")

    def plain(self):
        return self.tmux("capture-pane", "-p")

    def type(self, *keys):
        for key in keys:
            self.tmux("send-keys", *(["-l", key] if len(key) > 1 and " " in key else [key]))
            time.sleep(0.4)

    def wait(self, part):
        for _ in range(900):
            if part in self.plain():
                time.sleep(1)
                return self.screen()
            time.sleep(0.1)
        sys.exit(f"waited in vain for {part}:\n{self.plain()}")

    def close(self):
        self.tmux("kill-server")


def project(terminal):
    work = terminal.work
    (work / "pyproject.toml").write_text('[project]\nname = "notes"\nversion = "0.1.0"\n')
    (work / "notes.py").write_text(
        'from pathlib import Path\n\n\ndef load(path):\n'
        '    """Reads notes, one a line."""\n    return Path(path).read_text()\n\n\n'
        "def save(path, notes):\n    # AUTHOR: what if the disk is full?\n"
        '    Path(path).write_text("\\n".join(notes))\n'
    )
    (work / "count.py").write_text(
        "from notes import load\n\n\ndef count(path):\n    return len(load(path).splitlines())\n"
    )
    terminal.run("git", "init", "-q")
    terminal.run("git", "add", "-A")
    terminal.run("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "-m", "Begin")
    terminal.run("postil", "trust", "--yes")


def neovim(terminal):
    project(terminal)
    plugin = terminal.folder / "config/nvim/pack/postil/start"
    plugin.mkdir(parents=True)
    (plugin / "postil").symlink_to(ROOT / "editors/neovim")
    (terminal.folder / "config/nvim/init.lua").write_text(
        "vim.o.termguicolors, vim.o.number, vim.o.signcolumn, vim.o.swapfile = true, true, 'yes', false\n"
        "vim.o.shortmess = vim.o.shortmess .. 'I'\nvim.diagnostic.config({ virtual_text = true })\n"
        "vim.o.laststatus = 2\n"
        "vim.o.statusline = \"%f %m %= %{%v:lua.require'postil'.statusline()%}  %l,%c \"\n"
    )
    terminal.start("nvim notes.py")
    terminal.wait("awaiting agent")
    terminal.type(":", "4Postil new where is `load` used?", "Enter")
    terminal.wait("AUTHOR: where")
    terminal.type(":", "4Postil reply ", "Enter")
    terminal.wait("# AGENT:")
    terminal.type(":", "4Postil open ", "Enter")
    return terminal.wait("# Thread ")


def helix(terminal):
    project(terminal)
    config = terminal.folder / "config/helix"
    config.mkdir()
    shutil.copy(ROOT / "editors/helix/languages.toml", config)
    keys = (ROOT / "editors/helix/config.toml").read_text()
    (config / "config.toml").write_text(f'editor.true-color = true\neditor.end-of-line-diagnostics = "hint"\n{keys}')
    terminal.start("hx notes.py:10")
    terminal.wait("awaiting agent")
    terminal.type("Space", "a")
    return terminal.wait("Reply as agent")


def record(terminal):
    """Every screen of `postil demo`, line by line: it takes less than a second, and nobody could read along."""
    slowly = "while IFS= read -r line; do printf '%s\\n' \"$line\"; sleep 0.1; done"
    terminal.start(f"printf '$ postil demo\\n'; CLICOLOR_FORCE=1 postil demo 2>&1 | {slowly}; printf '$ '; sleep 600")
    screens, last, since = [], None, time.monotonic()
    end = time.monotonic() + 120
    while time.monotonic() < end:
        now, screen = time.monotonic(), terminal.screen()
        if screen != last:
            if last is not None and last.strip():
                screens.append((min(max(now - since, 0.1), 2), last))
            last, since = screen, now
        if re.search("^\\$ *$", terminal.plain().rstrip().split("\n")[-1]) and "postil demo\n" not in terminal.plain()[-20:]:
            break
        time.sleep(0.05)
    screens.append((8, terminal.screen()))
    return screens


def main():
    made = {"neovim": neovim, "helix": helix, "demo": record}
    check = "--check" in sys.argv
    names = [name for name in sys.argv[1:] if name != "--check"] or list(made)
    old = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="postil-", ignore_cleanup_errors=True) as folder:
            terminal = Terminal(pathlib.Path(folder))
            try:
                shown = made[name](terminal)
                if check:
                    old += [name] if differs(name, terminal, shown) else []
                    continue
                draw(name, shown if isinstance(shown, list) else [(1, shown)])
            finally:
                terminal.close()
    if old:
        sys.exit(f"no longer as the picture shows it: {', '.join(old)}")


main()
