/** Another version of the program, ready to take the place of this one. */
export interface ProgramChange {
  from: string
  to: string
  /** The command of the new version where it lies now, to be tried. */
  triedCommand: string
  /** The command of whichever version is in place. */
  command: string
  /** Puts the new version in place. Killed anywhere, one of the two is still there to be run, or `undo` makes it so. */
  apply(): Promise<void>
  /** Puts the old one back; does nothing where it is in place. */
  undo(): Promise<void>
  /** Removes what is left of the other version. */
  finish(): Promise<void>
}
