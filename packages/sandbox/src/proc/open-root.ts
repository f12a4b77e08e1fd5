/** The file system of a running container, through its first process. */
export type ContainerRoot = AsyncDisposable & {
  /** Prefix for a path in the container; symlinks in that path resolve on the host, so the caller must not follow them */
  readonly path: string;
  /** Reads the process's `mountinfo` */
  readMounts(): Promise<string>;
  /** Returns true if the process has ended. The kernel ends it after all others in the container */
  hasEnded(): Promise<boolean>;
};

/** Opens the file system of a container's first process; `undefined` if that is impossible at the moment. */
export type OpenRoot = (pid: number, id: string) => Promise<ContainerRoot | undefined>;
