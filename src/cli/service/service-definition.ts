/** What a service manager is told to run, for this user alone. */
export interface ServiceDefinition {
  /** The program and its arguments; the program by its whole path. */
  command: readonly string[]
  /** What it gets besides what the manager gives everybody. */
  environment: Readonly<Record<string, string>>
  /** Where launchd writes what the program says; systemd has a journal. */
  logFile: string
}

/** Stands in every file that was written here, and in none that was not. */
export const marker = 'Written by "familiar service install".'

/** How long a stop may take: what runs is brought to an end first. */
export const stopSeconds = 60
