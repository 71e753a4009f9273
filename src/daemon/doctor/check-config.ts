import { existsSync } from 'node:fs'
import { formatProblems } from '../config/config-problem.ts'
import { type LoadedConfig, loadConfig } from '../config/load-config.ts'
import { homePaths } from '../home-paths.ts'
import { type Finding, fail, ok, quoted, reasonOf, warn } from './finding.ts'

export function checkConfig(
  homePath: string,
  env: Readonly<Record<string, string | undefined>>,
): { findings: Finding[]; loaded: LoadedConfig } {
  let loaded: LoadedConfig
  try {
    loaded = loadConfig({ home: homePath, env })
  } catch (error) {
    // A home that is no directory at all; what is wrong with it is told by its own check.
    return { findings: [fail('config', `Cannot be read: ${reasonOf(error)}`)], loaded: { ok: false, problems: [] } }
  }
  if (!loaded.ok) {
    const lines = formatProblems(loaded.problems, homePath)
    const findings = loaded.problems.map(({ file, line }, index) =>
      fail('config', lines[index] ?? '', existsSync(file) ? `\${EDITOR:-vi} +${line ?? 1} ${quoted(file)}` : undefined),
    )
    return { findings, loaded }
  }
  const { config } = homePaths(homePath)
  const source = existsSync(config) ? config : 'the defaults (there is no familiar.toml)'
  return {
    findings: [ok('config', `Sound: ${source}`), ...loaded.warnings.map((text) => warn('config', text))],
    loaded,
  }
}
