/** What a Dockerfile says, as far as a sandbox without a container engine can do the same with this machine's programs. */
export interface DockerfilePlan {
  /** The base image of the last stage, variables filled in. Null where there is none: then there is a fatal problem. */
  from: string | null
  /** Absolute. */
  workdir: string
  /** In the order of the file: a later one covers an earlier one. */
  copies: DockerfileCopy[]
  /** What runs is `entrypoint` followed by the caller's arguments, or by `cmd` where there are none. */
  entrypoint: string[]
  cmd: string[]
  environment: Record<string, string>
  installs: DockerfileInstalls
  /** Inner paths that the file makes executable (`RUN chmod +x`, `COPY --chmod`). */
  executables: string[]
  /** In the order of the lines. */
  problems: DockerfileProblem[]
}

export interface DockerfileCopy {
  /** In the tool's own folder: a relative path without `..`, `.` for all of it, or a pattern with `*` and `?`. */
  source: string
  /** Absolute. */
  target: string
  /** Whether a file lands in `target` under its own name, or is `target` itself. The contents of a folder always land in it. */
  isIntoDirectory: boolean
}

interface DockerfileInstalls {
  /** Names of packages of apk or apt. */
  system: string[]
  /** Requirements as pip takes them. */
  pip: string[]
  /** Files of requirements in the tool's own folder. */
  pipFiles: string[]
  npm: string[]
  /** `npm install` or `npm ci` without names: what the tool's own package.json lists. */
  npmProject: boolean
}

interface DockerfileProblem {
  /** Counted from 1. */
  line: number
  message: string
  /** The tool cannot run without an engine. Otherwise: this step is passed over, and the tool may miss it. */
  isFatal: boolean
}
