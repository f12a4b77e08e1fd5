// Draws the lines that a program printed as an animated picture of a terminal.

const COLUMNS = 100;
const ROWS = 26;
const LINE_PX = 19;
const MARGIN_PX = 20;
const WIDTH_PX = 2 * MARGIN_PX + 7.9 * COLUMNS;
const HEIGHT_PX = 2 * MARGIN_PX + ROWS * LINE_PX;
// Long enough to be seen, and short enough to wait for.
const SHORTEST_MS = 120;
const LONGEST_MS = 1_500;
const PAUSE_MS = 6_000;
const BACKGROUND = "#0d1117";

/**
 * Returns the picture, which repeats itself. Each line has a text and the time when it was printed. If the viewer prefers reduced motion,
 * only the last screen is shown.
 */
export function toTerminalSvg(lines) {
  const times = toTimes(lines);
  const length = times.at(-1) + PAUSE_MS;
  // The n-th step shows n lines.
  const steps = (toPx) =>
    [0, ...times].map((ms, shown) => `${((100 * ms) / length).toFixed(2)}%{${toMove(toPx(shown))}}`);
  const animation = (name) => `{animation:${name} ${Math.round(length)}ms step-end infinite}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH_PX} ${HEIGHT_PX}" width="${WIDTH_PX}" height="${HEIGHT_PX}">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}
.say{fill:#f0f6fc;font-weight:bold}.quote{fill:#8b949e}.ok{fill:#7ee787}
#lines${animation("scroll")}#rest${animation("uncover")}
@keyframes scroll{${steps(toScrolledPx).join("")}}
@keyframes uncover{${steps((shown) => Math.min(shown, ROWS) * LINE_PX).join("")}}
@media(prefers-reduced-motion:reduce){#lines,#rest{animation:none}}
</style>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
<svg x="${MARGIN_PX}" y="${MARGIN_PX}" width="${WIDTH_PX - 2 * MARGIN_PX}" height="${ROWS * LINE_PX}">
<g id="lines" transform="translate(0 ${toScrolledPx(lines.length)})">
${lines.map(({ text }, index) => toText(text, index)).join("\n")}
</g>
<rect id="rest" width="100%" height="100%" fill="${BACKGROUND}" transform="translate(0 ${ROWS * LINE_PX})"/>
</svg>
</svg>
`;
}

/** Returns the lines of a picture, without the empty ones. */
export function readTerminalSvg(svg) {
  return [...svg.matchAll(/^<text [^>]*>(.*)<\/text>$/gm)].map(([, line]) =>
    line
      .replaceAll(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&"),
  );
}

/** Truncates a line like the picture. */
export function toScreenLine(text) {
  return text.length <= COLUMNS ? text : `${text.slice(0, COLUMNS - 1)}…`;
}

/** Returns the times of the lines in the picture, without long waits. */
function toTimes(lines) {
  let ms = 0;
  return lines.map(({ atMs }, index) => {
    const waited = atMs - (lines[index - 1]?.atMs ?? 0);
    return (ms += Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waited)));
  });
}

/** Returns how far the lines are moved when this number of them is shown. */
function toScrolledPx(shown) {
  return Math.min(0, ROWS - shown) * LINE_PX;
}

function toMove(px) {
  return `transform:translateY(${px}px)`;
}

function toText(line, index) {
  const text = toScreenLine(line).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const y = (index + 1) * LINE_PX - 5;
  if (line.startsWith("  | ")) return `<text y="${y}" class="quote">${text}</text>`;
  if (line.startsWith("  ok ")) return `<text y="${y}">  <tspan class="ok">ok</tspan>${text.slice(4)}</text>`;
  return text === "" ? "" : `<text y="${y}" class="say">${text}</text>`;
}
