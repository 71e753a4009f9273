import type { SpawnOptions } from 'node:child_process'

export interface ChildResult {
  code: number | null
  signal: NodeJS.Signals | null
  received: NodeJS.Signals | null
  output: string
}

export function runChild(
  command: string,
  args: string[],
  options: SpawnOptions & { onStart?: (pid: number) => void },
): Promise<ChildResult>
