// A reporter of vitest that writes the failed test files to $BUDGIE_FAILED_TESTS, and the judgement of which run once more.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

/** Writes each failed file with its failures, and the number of errors that belong to no file. */
export default class FailedTests {
  onTestRunEnd(modules, unhandled) {
    const files = modules.filter((module) => !module.ok()).map(toFile);
    writeFileSync(process.env.BUDGIE_FAILED_TESTS, JSON.stringify({ files, unhandled: unhandled.length }));
  }
}

function toFile(module) {
  const suites = [module, ...module.children.allSuites()];
  const ofSetUp = suites.flatMap((suite) => suite.errors().map((error) => toFailure(suite, error, true)));
  const ofTests = [...module.children.allTests("failed")].flatMap((test) =>
    (test.result().errors ?? []).map((error) => toFailure(test, error, false)),
  );
  const path = relative(module.project.config.root, module.moduleId);
  return { path, project: module.project.name, failures: [...ofSetUp, ...ofTests] };
}

function toFailure(place, error, ofSetUp) {
  const { code, diff, message = "", name, stack } = error;
  const isAssertion = name === "AssertionError" || error.cause?.name === "AssertionError";
  const isTimeout = /^(?:(?:Test|Hook) timed out in|Waited in vain for)/.test(message);
  // An error of the engine or the system has a code, which a thrown assertion has not.
  const isLate = !isAssertion && (ofSetUp || isTimeout || typeof code === "string");
  return { title: place.fullName ?? place.moduleId, text: [stack ?? message, diff].filter(Boolean).join("\n"), isLate };
}

// Tests that attack a sandbox, or break what budgie needs: the claims with their escapes, the faults, and the runner's own.
const ATTACKS =
  /^packages\/claims\/|\.faults\.test\.ts$|\/(?:access|bind-mounts|confirm-mounts|hostile-repository|isolation|planted-home|prove|read-home-file|secrets)\.docker\.test\.ts$/;

/** Returns the files to run once more, or the reason why the run has failed. `most` is the number of flaky files that it may have. */
export function toVerdict(report, most) {
  if (report === undefined || report.files.length === 0)
    return { again: [], why: "vitest failed without a failed test." };
  if (report.unhandled > 0)
    return { again: [], why: "An error outside the tests is no flake, so nothing is run again." };
  const through = report.files.find(
    ({ failures, path }) => ATTACKS.test(path) && !failures.every(({ isLate }) => isLate),
  );
  if (through !== undefined)
    return { again: [], why: `${through.path} tests an attack or a fault, so it is not run again.` };
  if (report.files.length > most)
    return {
      again: [],
      why: `Of the files of a run at most 3 may be flaky, so none of these ${report.files.length} is run again.`,
    };
  return { again: report.files };
}
