import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { marker } from './service-definition.ts'
import { findServiceManager, type ServiceManager } from './service-manager.ts'

/** The manager of this machine, for this user; throws where there is none. */
export function ownManager({ env }: Pick<CommandContext, 'env'>): ServiceManager {
  const manager = knownManager({ env })
  if (manager) return manager
  throw new CommandError(`There are no services on ${process.platform} that Familiar knows.`, {
    code: 'unsupported',
    hint: 'Have "familiar serve" started by whatever starts programs there.',
  })
}

export function knownManager({ env }: Pick<CommandContext, 'env'>): ServiceManager | undefined {
  return findServiceManager({
    platform: process.platform,
    userDirectory: homedir(),
    userId: process.getuid?.() ?? 0,
    env,
  })
}

/** Whose file lies at the place of the service. */
export function whoseFile(path: string): 'none' | 'ours' | 'foreign' {
  try {
    return readFileSync(path, 'utf8').includes(marker) ? 'ours' : 'foreign'
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return 'none'
    throw cause
  }
}

export function refuseForeign(path: string): CommandError {
  return new CommandError(`${path} was not written by Familiar.`, {
    code: 'conflict',
    hint: 'Look at it first; --force goes on all the same.',
  })
}

export function notInstalled(): CommandError {
  return new CommandError('There is no service of Familiar here.', {
    code: 'not_found',
    hint: 'familiar service install',
  })
}
