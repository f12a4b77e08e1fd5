// An oxlint plugin that requires regular expressions to take linear time, because agents often write the text that they match.
import { analyse } from "scslre";

const rule = {
  create(context) {
    const report = (node, message) => context.report({ node, message });
    const refuseConstructor = (node) => {
      if (node.callee.type === "Identifier" && node.callee.name === "RegExp") {
        report(node, "Write the expression as a literal: the cost of one created at run time cannot be checked.");
      }
    };
    return {
      Literal(node) {
        const [{ pick } = {}] = node.regex ? findPumps(node.regex) : [];
        if (pick === undefined) return;
        const pumped = JSON.stringify(pick);
        report(
          node,
          `Takes quadratic time or more for a text of many ${pumped}. Use string methods, or an anchor (^, y).`,
        );
      },
      CallExpression: refuseConstructor,
      NewExpression: refuseConstructor,
      Identifier(node) {
        if (node.name !== "stripVTControlCharacters") return;
        report(node, "Takes quadratic time for many ;# after an escape. Use removeTerminalSequences.");
      },
    };
  },
};

/** Lists the characters that make an expression slow when they are repeated. */
function findPumps({ flags, pattern }) {
  return analyse({ source: pattern, flags }).reports.map(({ character }) => character);
}

export default { meta: { name: "budgie" }, rules: { "linear-expressions": rule } };
