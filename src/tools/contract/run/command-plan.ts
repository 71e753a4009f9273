import type { ArrangedFiles } from './arrange-files.ts'

/** How a tool is run, decided from its folder alone: nothing of this machine is looked at yet. */
export interface CommandPlan {
  /** With the programs of this machine. */
  here: PlannedCommand & {
    /** Where its files lie inside. */
    files: ArrangedFiles
    /** Why that takes a container engine; null where it does not. */
    problem: string | null
  }
  /** In an image of its own, where it has a Dockerfile. */
  inImage: PlannedCommand | null
  needs: ToolNeeds
  notes: readonly string[]
}

export interface PlannedCommand {
  argv: readonly [string, ...string[]]
  workingDirectory: string
  environment: Readonly<Record<string, string>>
}

/** What must be there beside the tool's own files, where no image brings it. */
export interface ToolNeeds {
  /** Programs that must be found by their name, each with the package that has it. */
  programs: readonly { name: string; package: string }[]
  /** Requirements as pip takes them, one a line. */
  python: readonly string[]
  /** Packages that its own `node_modules` must hold. */
  node: readonly string[]
}
