/** The variables of a git that knows no configuration of the user's. */
export const GIT_VARIABLES = {
  PATH: process.env["PATH"],
  GIT_CONFIG_GLOBAL: "/dev/null",
  ...Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((who) => [
      [`GIT_${who}_NAME`, "u"],
      [`GIT_${who}_EMAIL`, "u@b"],
    ]),
  ),
};
