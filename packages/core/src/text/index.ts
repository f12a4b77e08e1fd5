// The public surface of @budgie/core/text: every export is named here, and becomes API.
export { parseDuration, parseTimeout, formatDuration } from "./parse-duration.ts";
export { formatTimes } from "./format-times.ts";
export { matchesGlob } from "./matches-glob.ts";
export { createOmissions, joinFirst, type Omissions } from "./omissions.ts";
export { parseGitConfig, type GitSetting } from "./parse-git-config.ts";
export { parseJson, parseJsonc } from "./parse-json.ts";
export { escapeForTerminal } from "./escape-for-terminal.ts";
export { checkFilesBy, checkRead, readPlainFile, readUnchecked } from "./read-plain-file.ts";
export { removeTerminalSequences } from "./remove-terminal-sequences.ts";
export { replaceFile, writeStateFile } from "./replace-file.ts";
export { sanitizeText } from "./sanitize-text.ts";
export { truncateText, formatCount } from "./truncate-text.ts";
export { toShellCommand } from "./to-shell-command.ts";
