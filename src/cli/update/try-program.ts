import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { homePaths } from '../../daemon/home-paths.ts'
import { copyDatabase } from '../../storage/sqlite/copy-database.ts'
import type { CommandContext } from '../command.ts'
import { answersMessage, answersStatus, brokenChecks, type Health, saysVersion } from './check-program.ts'
import type { ProgramChange } from './program-change.ts'

/**
 * Tries the new version on a copy of the home: its doctor finds nothing broken that the old one's did not, it brings the
 * database up to date, and it answers a message.
 *
 * The copy has a life of its own, and must not lead it: turns that were cut off in it would be taken up, messages in it
 * sent a second time. So the version is started on it without the configuration, which names every way out of the house,
 * and answers the message on an empty home.
 */
export async function tryProgram(context: CommandContext, change: ProgramChange): Promise<Health> {
  const { homePath, env, signal } = context
  const paths = homePaths(homePath)
  const folder = mkdtempSync(join(paths.run, 'update-'))
  const copy = homePaths(join(folder, 'copy'))
  const alone = {
    ...withoutKeys(env),
    FAMILIAR_MODEL: 'offline/offline',
    FAMILIAR_EMBEDDING: 'off',
    FAMILIAR_SANDBOX: 'off',
    // What is tried has a file of its own, whatever serves the home.
    FAMILIAR_DATABASE_URL: '',
    FAMILIAR_KEY_FILE: '',
  }
  const onCopy = (command: string, environment = env) => ({ command, home: copy.root, env: environment, signal })
  const configuration = [paths.config, paths.providers, paths.environment]
  try {
    mkdirSync(copy.root, { mode: 0o700 })
    for (const path of [...configuration, paths.key]) {
      if (existsSync(path)) cpSync(path, join(copy.root, basename(path)), { recursive: true })
    }
    if (existsSync(paths.database)) {
      await copyDatabase({ databasePath: paths.database, targetPath: copy.database })
    }
    const runs = await saysVersion(onCopy(change.triedCommand), change.to)
    if (!runs.ok) return runs
    const before = await brokenChecks(onCopy(change.command))
    const after = await brokenChecks(onCopy(change.triedCommand))
    if (!after.ok) return after
    const worse = after.checks.filter((check) => before.ok && !before.checks.includes(check))
    if (worse.length > 0) return { ok: false, problem: `familiar doctor: ${worse.join(', ')}` }
    for (const path of configuration) rmSync(join(copy.root, basename(path)), { recursive: true, force: true })
    const status = await answersStatus(onCopy(change.triedCommand, alone), change.to)
    if (!status.ok) return status
    return await answersMessage({ command: change.triedCommand, home: join(folder, 'empty'), env: alone, signal })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function withoutKeys(env: CommandContext['env']): CommandContext['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/KEY|TOKEN|SECRET|PASSWORD|^FAMILIAR_/i.test(name)))
}
