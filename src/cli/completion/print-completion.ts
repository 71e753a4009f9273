import type { Command } from 'commander'
import { readDaemonInfo } from '../../daemon/daemon-info.ts'
import { type ApiClient, createApiClient } from '../api-client.ts'
import { createCapsClient } from '../caps/caps-client.ts'
import type { CommandHandler } from '../command.ts'
import { bashCompletion } from './bash-completion.ts'
import { commandTree } from './command-tree.ts'
import { fishCompletion } from './fish-completion.ts'

type What = 'bash' | 'zsh' | 'fish' | 'sessions' | 'capabilities'

/** Prints a shell's script, or names for it. Names come only from a daemon that runs: a key press must start nothing. */
export function createPrintCompletion(program: Command): CommandHandler<{ what: What }> {
  return async ({ homePath, stdout }, { what }) => {
    switch (what) {
      case 'bash':
      case 'zsh':
        stdout.write(bashCompletion(commandTree(program), what))
        break
      case 'fish':
        stdout.write(fishCompletion(commandTree(program)))
        break
      case 'sessions':
      case 'capabilities': {
        const info = readDaemonInfo(homePath)
        const names = info ? await namesOf(createApiClient(info), what) : []
        // Others choose names too. What a shell would have to quote is not offered.
        for (const name of new Set(names)) if (/^[\p{L}\p{N}_.:@+-]+$/u.test(name)) stdout.write(`${name}\n`)
      }
    }
    return undefined
  }
}

async function namesOf(client: ApiClient, what: 'sessions' | 'capabilities'): Promise<string[]> {
  if (what === 'sessions') return (await client.sessions()).map(({ contact }) => contact)
  return (await createCapsClient(client.transport).list({})).map(({ name }) => name)
}
