import type { IgnoreRules } from './ignore-rules.ts'

/** The rules that hold in a folder: its own before those of the folders around it. */
export interface IgnoreChain {
  rules: IgnoreRules
  /** Where the rules stand, as a path from the root with a slash at its end; empty for the root. */
  base: string
  outer: IgnoreChain | undefined
}

/** Whether an entry is ignored whose folder is not. `path` is from the root. */
export function isIgnored(
  chain: IgnoreChain | undefined,
  { name, path, isFolder }: { name: string; path: string; isFolder: boolean },
): boolean {
  for (let link = chain; link; link = link.outer) {
    const decision = link.rules.decide({ name, path: path.slice(link.base.length), isFolder })
    if (decision) return decision === 'ignored'
  }
  return false
}
