import { toDurationText, type TurnProgress } from "@budgie/core";

/** Where a turn is and for how long, for people: `code-reviewer: running, second try, 1m20s`. */
export function toProgressText(turn: TurnProgress): string {
  const seconds = Math.floor((performance.now() - turn.sinceMs) / 1000);
  const place = toPlaceText(turn);
  if (seconds === 0) return `${turn.agent}: ${place}`;
  return `${turn.agent}: ${place}${place === SECOND_TRY ? "," : ""} ${toDurationText(1000 * seconds)}`;
}

const SECOND_TRY = "running, second try";
const ORDINAL = new Intl.PluralRules("en-US", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

function toPlaceText(turn: TurnProgress): string {
  switch (turn.phase) {
    case "waiting":
      return `waiting, ${turn.position}${ENDINGS[ORDINAL.select(turn.position)] ?? "th"} in line`;
    case "starting":
      return "starting";
    case "running":
      return turn.tries > 1 ? SECOND_TRY : "running";
  }
}
