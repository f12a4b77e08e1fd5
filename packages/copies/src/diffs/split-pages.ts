import { truncateText } from "@budgie/core/text";

const PAGE_BYTES = 32 * 1024;

/** Splits lines into pages of at most 32 KiB, at the ends of lines that fit a page. Stops beyond `mostPages`. */
export async function splitPages(
  blocks: AsyncIterable<readonly string[]>,
  mostPages: number,
): Promise<{ readonly pages: readonly string[]; readonly isWhole: boolean }> {
  const pages: string[] = [];
  let page = "";
  let bytes = 0;
  for await (const lines of blocks) {
    for (const line of lines.flatMap(cutLine)) {
      const more = Buffer.byteLength(line) + 1;
      if (bytes + more > PAGE_BYTES) {
        pages.push(page);
        [page, bytes] = ["", 0];
        if (pages.length === mostPages) return { pages, isWhole: false };
      }
      page += `${line}\n`;
      bytes += more;
    }
  }
  return { pages: page === "" && pages.length > 0 ? pages : [...pages, page], isWhole: true };
}

// Leaves room for other lines on the page.
const LINE_BYTES = 8 * 1024;

/** Cuts a line that is longer than a quarter of a page. Its first character, which says what a line of a diff is, begins each piece. */
function cutLine(line: string): readonly string[] {
  const pieces: string[] = [];
  const mark = line.slice(0, 1);
  let rest = line;
  while (rest.length > LINE_BYTES || Buffer.byteLength(rest) > LINE_BYTES) {
    const piece = truncateText(rest, LINE_BYTES);
    pieces.push(piece);
    rest = `${mark}…${rest.slice(piece.length)}`;
  }
  return [...pieces, rest];
}
