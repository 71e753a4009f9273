import { tokenBits } from '../../policy/token-strength.ts'
import type { Config } from './config.ts'
import type { ConfigProblem } from './config-problem.ts'
import type { Environment } from './environment.ts'
import type { TomlIndex } from './toml-index.ts'

const neededBits = 256

/** Reachable from other machines only when asked for twice: by a flag, and with a token that nobody guesses. */
export function checkRemoteAccess(source: {
  config: Config
  environment: Environment
  file: string
  index: TomlIndex
}): ConfigProblem[] {
  const { config, environment, file, index } = source
  if (isLoopback(config.http.host)) return []
  const problems: ConfigProblem[] = []
  const variable = environment.get('FAMILIAR_HOST')
  const place = variable
    ? { file: variable.file, line: variable.line, key: variable.key }
    : { file, line: index.lineOf(['http', 'host']), key: 'http.host' }
  if (!config.http.allowRemote) {
    const message = `${config.http.host} is reachable from other machines; that needs allow_remote = true in [http] of familiar.toml`
    problems.push({ ...place, message })
  }
  if (config.token === null || tokenBits(config.token) < neededBits) {
    const token = environment.get('FAMILIAR_TOKEN')
    const found = token ? 'FAMILIAR_TOKEN is weaker than that' : 'FAMILIAR_TOKEN is not set'
    const message = `${config.http.host} is reachable from other machines; that needs a token of ${neededBits} bits, and ${found} (openssl rand -hex 32 makes one)`
    problems.push({ ...place, message })
  }
  return problems
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}
