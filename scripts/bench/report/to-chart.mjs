const WIDTH = 760;
const LABEL = 280;
const BAR = 20;
const GAP = 8;
const TOP = 40;
const VALUE = 80;

/** Returns an SVG with a bar for each kind of turn, and the middle half of its rounds as a line. */
export function toChart({ cases }) {
  const rows = cases.turns?.rows ?? [];
  const most = Math.max(1, ...rows.map(({ high }) => high));
  const scale = (WIDTH - LABEL - VALUE) / most;
  const bars = rows.map((row, index) => toBar(row, TOP + index * (BAR + GAP), scale));
  const height = TOP + rows.length * (BAR + GAP) + GAP;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="sans-serif" font-size="13">
<title>The median time of a turn, in ms</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${GAP}" y="24" font-weight="bold">The time of a turn in ms: median, and the middle half of rounds</text>
${bars.join("\n")}
</svg>
`;
}

function toBar({ high, low, median, title }, y, scale) {
  const [end, from, to] = [median, low, high].map((ms) => Math.round(LABEL + ms * scale));
  const middle = y + BAR / 2;
  const color = /^(?:sandbox|local)/.test(title) ? "#2f7d4f" : "#8a94a0";
  return [
    `<text x="${LABEL - GAP}" y="${middle + 5}" text-anchor="end">${toSafe(title)}</text>`,
    `<rect x="${LABEL}" y="${y}" width="${end - LABEL}" height="${BAR}" fill="${color}"/>`,
    `<path d="M${from} ${middle}H${to}" stroke="#222" stroke-width="2"/>`,
    `<text x="${Math.max(end, to) + GAP}" y="${middle + 5}">${median}</text>`,
  ].join("");
}

function toSafe(text) {
  return text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
