/** The folders of a machine's own programs. In those that PATH names, such as a project's, an agent may have left a program of the same name. */
export const SYSTEM_PATH = "/usr/bin:/bin:/run/current-system/sw/bin";
