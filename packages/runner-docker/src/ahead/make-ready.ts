/** A session that can be prepared for its first turn. */
export type PreparedSession = {
  /** Starts what its first turn would wait for */
  readonly warmUp: () => Promise<void>;
  readonly remove: () => Promise<void>;
};

/** Makes a session ready for its first turn. Removes it if that fails. */
export async function makeReady<T extends PreparedSession>(opening: Promise<T>): Promise<T> {
  const session = await opening;
  try {
    await session.warmUp();
    return session;
  } catch (error) {
    await session.remove();
    throw error;
  }
}
