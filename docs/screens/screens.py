#!/usr/bin/env python3
"""Makes PNGs of the chat's main screens, to be looked at: true colour, 16 colours and none, light and dark.

    python3 docs/screens/screens.py [--zori target/debug/zori] [--out target/screens] [NAME ...]

Each screen is a real run in tmux. Needs python3, tmux and a monospaced TrueType font; no other package. The glyphs are drawn here, so that the
pictures do not depend on what else is installed.
"""
import argparse, os, re, shutil, struct, subprocess, sys, tempfile, time, zlib

FONTS = ["/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "/usr/share/fonts/TTF/DejaVuSansMono.ttf",
         "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf", "/Library/Fonts/Menlo.ttc"]
CELL_W, CELL_H, SIZE = 9, 18, 15
DARK = {"ground": (20, 23, 28), "text": (216, 222, 233)}
LIGHT = {"ground": (250, 250, 247), "text": (28, 31, 36)}
ANSI = [(0, 0, 0), (205, 49, 49), (13, 148, 85), (176, 128, 0), (36, 114, 200), (168, 63, 168), (17, 148, 170), (200, 200, 200),
        (110, 118, 129), (241, 76, 76), (35, 209, 139), (245, 200, 67), (88, 157, 246), (214, 112, 214), (41, 184, 219), (240, 240, 240)]


class Font:
    """The outlines of a TrueType font."""

    def __init__(self, path):
        self.data = open(path, "rb").read()
        tables = {}
        for i in range(struct.unpack(">H", self.data[4:6])[0]):
            tag, _, offset, length = struct.unpack(">4sLLL", self.data[12 + 16 * i:28 + 16 * i])
            tables[tag] = (offset, length)
        self.tables = tables
        head = tables[b"head"][0]
        self.units = struct.unpack(">H", self.data[head + 18:head + 20])[0]
        self.long = struct.unpack(">h", self.data[head + 50:head + 52])[0]
        hhea = tables[b"hhea"][0]
        self.ascent = struct.unpack(">h", self.data[hhea + 4:hhea + 6])[0]
        self.cmap = self.read_cmap()
        self.cache = {}

    def read_cmap(self):
        base, chars = self.tables[b"cmap"][0], {}
        for i in range(struct.unpack(">H", self.data[base + 2:base + 4])[0]):
            offset = base + struct.unpack(">L", self.data[base + 8 + 8 * i:base + 12 + 8 * i])[0]
            kind = struct.unpack(">H", self.data[offset:offset + 2])[0]
            if kind == 12:
                for g in range(struct.unpack(">L", self.data[offset + 12:offset + 16])[0]):
                    first, last, glyph = struct.unpack(">LLL", self.data[offset + 16 + 12 * g:offset + 28 + 12 * g])
                    for c in range(first, min(last, first + 20000) + 1):
                        chars[c] = glyph + c - first
            elif kind == 4:
                n = struct.unpack(">H", self.data[offset + 6:offset + 8])[0] // 2
                u = lambda at, k: struct.unpack(">%dH" % k, self.data[at:at + 2 * k])
                ends, starts = u(offset + 14, n), u(offset + 16 + 2 * n, n)
                deltas, ranges = u(offset + 16 + 4 * n, n), u(offset + 16 + 6 * n, n)
                for s in range(n):
                    for c in range(starts[s], min(ends[s], 0xFFFE) + 1):
                        if ranges[s] == 0:
                            glyph = (c + deltas[s]) & 0xFFFF
                        else:
                            at = offset + 16 + 6 * n + 2 * s + ranges[s] + 2 * (c - starts[s])
                            glyph = struct.unpack(">H", self.data[at:at + 2])[0]
                            glyph = (glyph + deltas[s]) & 0xFFFF if glyph else 0
                        if glyph:
                            chars.setdefault(c, glyph)
        return chars

    def contours(self, glyph, depth=0):
        loca, glyf = self.tables[b"loca"][0], self.tables[b"glyf"][0]
        if self.long:
            a, b = struct.unpack(">LL", self.data[loca + 4 * glyph:loca + 4 * glyph + 8])
        else:
            a, b = (2 * v for v in struct.unpack(">HH", self.data[loca + 2 * glyph:loca + 2 * glyph + 4]))
        if a == b or depth > 4:
            return []
        at = glyf + a
        count = struct.unpack(">h", self.data[at:at + 2])[0]
        at += 10
        if count < 0:
            out = []
            while True:
                flags, part = struct.unpack(">HH", self.data[at:at + 4])
                at += 4
                dx, dy = struct.unpack(">hh" if flags & 1 else ">bb", self.data[at:at + (4 if flags & 1 else 2)])
                at += 4 if flags & 1 else 2
                at += 2 if flags & 8 else 4 if flags & 0x40 else 8 if flags & 0x80 else 0
                out += [[(x + dx, y + dy, on) for x, y, on in c] for c in self.contours(part, depth + 1)]
                if not flags & 0x20:
                    return out
        ends = struct.unpack(">%dH" % count, self.data[at:at + 2 * count])
        at += 2 * count
        at += 2 + struct.unpack(">H", self.data[at:at + 2])[0]
        flags = []
        while len(flags) <= ends[-1]:
            flag = self.data[at]
            at += 1
            flags.append(flag)
            if flag & 8:
                flags += [flag] * self.data[at]
                at += 1
        axes = []
        for short, same in ((2, 16), (4, 32)):
            value, values = 0, []
            for flag in flags[:ends[-1] + 1]:
                if flag & short:
                    value += self.data[at] if flag & same else -self.data[at]
                    at += 1
                elif not flag & same:
                    value += struct.unpack(">h", self.data[at:at + 2])[0]
                    at += 2
                values.append(value)
            axes.append(values)
        points = [(x, y, flag & 1) for x, y, flag in zip(axes[0], axes[1], flags)]
        starts = [0] + [end + 1 for end in ends[:-1]]
        return [points[s:e + 1] for s, e in zip(starts, ends)]

    def bitmap(self, char, width):
        """Returns how much of each pixel a character covers, 0 to 255."""
        key = (char, width)
        if key not in self.cache:
            self.cache[key] = self.draw(char, width)
        return self.cache[key]

    def draw(self, char, width):
        glyph, scale, over = self.cmap.get(ord(char)), SIZE / self.units, 4
        rows, columns = CELL_H, CELL_W * width
        cover = [bytearray(columns) for _ in range(rows)]
        if glyph is None:
            if char.strip() and width:
                for y in range(4, rows - 4):
                    for x in range(2, columns - 2):
                        if y in (4, rows - 5) or x in (2, columns - 3):
                            cover[y][x] = 160
            return cover
        edges = []
        for contour in self.contours(glyph):
            points = []
            for i, (x, y, on) in enumerate(contour):
                px, py, pon = contour[i - 1]
                if not on and not pon:
                    points.append(((x + px) / 2, (y + py) / 2, 1))
                points.append((x, y, on))
            start = next((i for i, p in enumerate(points) if p[2]), None)
            if start is None:
                continue
            points = points[start:] + points[:start + 1]
            line, i = [points[0][:2]], 1
            while i < len(points):
                if points[i][2]:
                    line.append(points[i][:2])
                    i += 1
                else:
                    (ax, ay), (bx, by), (cx, cy) = line[-1], points[i][:2], points[i + 1][:2]
                    for t in (0.25, 0.5, 0.75, 1):
                        line.append(((1 - t) ** 2 * ax + 2 * t * (1 - t) * bx + t * t * cx, (1 - t) ** 2 * ay + 2 * t * (1 - t) * by + t * t * cy))
                    i += 2
            top = (CELL_H - SIZE) / 2 + self.ascent * scale - 1
            line = [(x * scale, top - y * scale) for x, y in line]
            edges += list(zip(line, line[1:]))
        for sub in range(rows * over):
            y, hits = (sub + 0.5) / over, []
            for (ax, ay), (bx, by) in edges:
                if (ay <= y) != (by <= y):
                    hits.append((ax + (y - ay) * (bx - ax) / (by - ay), 1 if ay < by else -1))
            winding, last = 0, 0.0
            for x, turn in sorted(hits):
                if winding:
                    row = cover[sub // over]
                    for column in range(max(0, int(last)), min(columns, int(x) + 1)):
                        part = min(x, column + 1) - max(last, column)
                        row[column] = min(255, row[column] + int(255 / over * max(0, part)))
                winding, last = winding + turn, x
        return cover


def colour(parts, place):
    kind = parts.pop(0)
    if kind == 5:
        n = parts.pop(0)
        if n < 16:
            return ANSI[n]
        if n >= 232:
            return (8 + 10 * (n - 232),) * 3
        levels = (0, 95, 135, 175, 215, 255)
        n -= 16
        return levels[n // 36], levels[n // 6 % 6], levels[n % 6]
    return parts.pop(0), parts.pop(0), parts.pop(0)


def wide(char):
    import unicodedata
    if unicodedata.combining(char) or char in "\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cells(text, look):
    """Reads what tmux captured: rows of (character, width, ink, ground, bold, underline)."""
    rows, style = [], {}
    for line in text.split("\n"):
        row = []
        for piece in re.split(r"(\x1b\[[0-9;:]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))", line):
            if piece.startswith("\x1b]"):
                continue
            if not piece.startswith("\x1b["):
                for char in piece:
                    ink, ground = style.get("ink", look["text"]), style.get("ground", look["ground"])
                    if style.get("dim"):
                        ink = tuple((2 * a + b) // 3 for a, b in zip(ink, ground))
                    if style.get("reverse"):
                        ink, ground = ground, ink
                    row.append((char, wide(char), ink, ground, style.get("bold"), style.get("under")))
                continue
            parts = [int(p or 0) for p in re.split("[;:]", piece[2:-1])]
            while parts:
                p = parts.pop(0)
                if p == 0:
                    style = {}
                elif p in (1, 2, 4, 7):
                    style[{1: "bold", 2: "dim", 4: "under", 7: "reverse"}[p]] = True
                elif p in (22, 24, 27):
                    for name in {22: ("bold", "dim"), 24: ("under",), 27: ("reverse",)}[p]:
                        style.pop(name, None)
                elif 30 <= p < 38 or 90 <= p < 98:
                    style["ink"] = ANSI[p - 30 if p < 38 else p - 82]
                elif 40 <= p < 48 or 100 <= p < 108:
                    style["ground"] = ANSI[p - 40 if p < 48 else p - 92]
                elif p in (38, 48):
                    style["ink" if p == 38 else "ground"] = colour(parts, p)
                elif p in (39, 49):
                    style.pop("ink" if p == 39 else "ground", None)
        rows.append(row)
    return rows


def png(path, rows, look, font, columns):
    width, height = columns * CELL_W, len(rows) * CELL_H
    image = [bytearray(bytes(look["ground"]) * width) for _ in range(height)]
    for r, row in enumerate(rows):
        column = 0
        for char, w, ink, ground, bold, under in row:
            if w == 0 or column + w > columns:
                continue
            cover = font.bitmap(char, w)
            for y in range(CELL_H):
                line, at = image[r * CELL_H + y], column * CELL_W * 3
                for x in range(CELL_W * w):
                    c = cover[y][x]
                    if bold and x:
                        c = max(c, cover[y][x - 1] * 3 // 4)
                    if under and y == CELL_H - 2:
                        c = 255
                    if c or ground != look["ground"]:
                        line[at + 3 * x:at + 3 * x + 3] = bytes((i * c + g * (255 - c)) // 255 for i, g in zip(ink, ground))
            column += w
    raw = b"".join(b"\0" + bytes(line) for line in image)
    chunk = lambda tag, data: struct.pack(">L", len(data)) + tag + data + struct.pack(">L", zlib.crc32(tag + data))
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, 0)))
        out.write(chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


class Screen:
    """The program in a tmux of its own."""

    def __init__(self, zori, arguments, columns, rows, env):
        self.home = tempfile.mkdtemp(prefix="zori-screens-")
        self.socket = os.path.join(self.home, "tmux")
        work = os.path.join(self.home, "proj")
        os.mkdir(work)
        clean = {"HOME": self.home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "ZORI_HOME": os.path.join(self.home, "base"), **env}
        words = ["env", "-i"] + [f"{k}={v}" for k, v in clean.items()] + [zori] + arguments
        # Root is warned about what it may do; the screens are those of people.
        if os.getuid() == 0 and shutil.which("setpriv"):
            words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] + words
            for folder in (self.home, work):
                os.chown(folder, 65534, 65534)
        conf = os.path.join(self.home, "conf")
        with open(conf, "w") as out:
            out.write('set -g default-terminal "tmux-256color"\nset -ga terminal-features "*:RGB"\nset -g status off\nset -g remain-on-exit on\n')
        self.tmux("-f", conf, "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", work, *words)
        self.columns = columns

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, capture_output=True, text=True).stdout

    def text(self, history=True):
        return self.tmux("capture-pane", "-e", "-p", *(["-S", "-"] if history else [])).rstrip("\n ")

    def wait(self, wanted, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if re.search(wanted, re.sub(r"\x1b\[[0-9;:]*m", "", self.text())):
                return
            time.sleep(0.05)
        raise SystemExit(f"`{wanted}` did not appear; the screen is:\n{self.text()}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


def no_key(screen):
    screen.wait("›")


def demo(screen):
    screen.wait(r"✓|That was", 60)


def completion(screen):
    screen.wait("›")
    screen.keys("/", "r", "e")
    screen.wait("/resume")


def help_page(screen):
    screen.wait("›")
    screen.keys("/help", "Enter")
    screen.wait("/cost")


# name: arguments, steps
SCREENS = {"no-key": ([], no_key), "demo": (["demo"], demo), "completion": ([], completion), "help": ([], help_page)}
LOOKS = {
    "true-dark": (DARK, {"TERM": "tmux-256color", "COLORTERM": "truecolor", "COLORFGBG": "15;0"}),
    "true-light": (LIGHT, {"TERM": "tmux-256color", "COLORTERM": "truecolor", "COLORFGBG": "0;15"}),
    "16-dark": (DARK, {"TERM": "xterm", "COLORFGBG": "15;0"}),
    "none-light": (LIGHT, {"TERM": "tmux-256color", "NO_COLOR": "1", "COLORFGBG": "0;15"}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--zori", default="target/debug/zori")
    parser.add_argument("--out", default="target/screens")
    parser.add_argument("--font", default=next((f for f in FONTS if os.path.exists(f)), None))
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCREENS)}; all without")
    args = parser.parse_args()
    if not args.font or not shutil.which("tmux"):
        sys.exit("screens.py needs tmux and a monospaced TrueType font (--font FILE)")
    unknown = [name for name in args.names if name not in SCREENS]
    if unknown:
        sys.exit(f"there is no screen `{unknown[0]}`; there are {', '.join(SCREENS)}")
    os.makedirs(args.out, exist_ok=True)
    font = Font(args.font)
    for name in args.names or SCREENS:
        arguments, steps = SCREENS[name]
        for look, (colours, env) in LOOKS.items():
            screen = Screen(os.path.abspath(args.zori), arguments, args.columns, 36, env)
            try:
                steps(screen)
                time.sleep(0.3)
                rows = cells(screen.text(), colours)
            finally:
                screen.close()
            path = os.path.join(args.out, f"{name}-{look}.png")
            png(path, rows, colours, font, args.columns)
            print(path)


if __name__ == "__main__":
    main()
