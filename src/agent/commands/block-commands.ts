import type { AssetActor } from '../../assets/asset-backend.ts'
import { always, type Command, type CommandCall, done, misused, never, refused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { formatTokens } from './command-text.ts'

/** Where blocks lie; what stands behind it is their label. */
const blocks = 'familiar:///blocks/'

type Services = Pick<CommandServices, 'assets' | 'pins' | 'agentOf'>

/** Which blocks there are, and which of them the agent always has before it. */
export function createBlockCommands(services: Services): Command[] {
  const { assets, pins } = services

  const ownerOf = async (call: Pick<CommandCall, 'userId' | 'sessionId'>) => {
    return { userId: call.userId, agent: await agentIn(services, call) }
  }

  const pin: Command = {
    name: 'pin',
    usage: '/pin LABEL',
    summary: 'put a block into the prompt',
    changesForGood: false,
    agentMay: true,
    acts: always,
    complete: ({ userId, sessionId }) => labelsOf(services, { userId, sessionId }),
    async run(call) {
      if (call.argument === '') return misused('Which block?', pin)
      const pinned = await pins.pin(await ownerOf(call), { path: call.argument })
      if (!pinned.ok) return refused(pinned.message)
      const { label, tokens, position } = pinned.pin
      const used = `${formatTokens(pinned.tokens)} of ${formatTokens(pinned.budget)} tokens are pinned.`
      return done(`Pinned ${label} as number ${position}, ${formatTokens(tokens)} tokens. ${used}`, { isPrivate: true })
    },
  }

  const unpin: Command = {
    name: 'unpin',
    usage: '/unpin LABEL',
    summary: 'take a block out of the prompt; the block stays',
    changesForGood: false,
    agentMay: true,
    acts: always,
    complete: async (call) => (await pins.list(await ownerOf(call))).pins.map(({ label }) => label),
    async run(call) {
      if (call.argument === '') return misused('Which block?', unpin)
      const unpinned = await pins.unpin(await ownerOf(call), { path: call.argument })
      if (!unpinned.ok) return refused(unpinned.message)
      const used = `${formatTokens(unpinned.tokens)} of ${formatTokens(unpinned.budget)} tokens are pinned.`
      return done(`Unpinned ${unpinned.label}. ${used}`, { isPrivate: true })
    },
  }

  const pinned: Command = {
    name: 'pinned',
    usage: '/pinned',
    summary: 'the blocks in the prompt, in their order',
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      const list = await pins.list(await ownerOf(call))
      if (list.pins.length === 0) return done('Nothing is pinned.')
      const lines = list.pins.map(({ position, label, tokens, trust }) => {
        const mark = trust === 'untrusted' ? ', words of others' : ''
        return `${position}. ${label} (${formatTokens(tokens)} tokens${mark})`
      })
      const sum = `${formatTokens(list.tokens)} of ${formatTokens(list.budget)} tokens.`
      return done([...lines, sum].join('\n'), { isPrivate: true })
    },
  }

  const list: Command = {
    name: 'blocks',
    usage: '/blocks [FOLDER]',
    summary: 'the blocks that there are',
    changesForGood: false,
    agentMay: true,
    acts: never,
    async run(call) {
      const actor = await actorOf(services, call)
      const found = await assets.list(actor, { prefix: `${blocks}${call.argument}` })
      if (!found.ok) return refused(found.message)
      if (found.entries.length === 0) return done('There are no blocks yet.')
      const isPinned = new Set((await pins.list(actor)).pins.map(({ label }) => label))
      const lines = found.entries.map(({ path, bytes }) => {
        const label = labelOf(path)
        return `${label} (${bytes.toLocaleString('en')} bytes${isPinned.has(label) ? ', pinned' : ''})`
      })
      return done([...lines, ...(found.isCut ? ['… and more: name a folder.'] : [])].join('\n'), { isPrivate: true })
    },
  }
  return [pin, unpin, pinned, list]
}

/** The one who changes a block by a command. */
export async function actorOf(
  services: Pick<Services, 'agentOf'>,
  call: Pick<CommandCall, 'userId' | 'sessionId' | 'by' | 'trust'>,
): Promise<AssetActor> {
  const { userId, by, trust } = call
  return { userId, author: by, agent: await agentIn(services, call), trust }
}

/** Before anything was said there is no session, and nobody else who could answer. */
async function agentIn(
  { agentOf }: Pick<Services, 'agentOf'>,
  { userId, sessionId }: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<string> {
  return sessionId === null ? 'main' : await agentOf(userId, sessionId)
}

export async function labelsOf(
  services: Pick<Services, 'assets' | 'agentOf'>,
  call: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<string[]> {
  const actor = await actorOf(services, { ...call, by: 'user', trust: 'owner' })
  const found = await services.assets.list(actor, { prefix: blocks })
  return found.ok ? found.entries.map(({ path }) => labelOf(path)) : []
}

/** A command names a block by its label alone; a whole address is understood, too. */
export function blockPath(named: string): string {
  return /^[a-z]+:\/\//i.test(named) ? named : `${blocks}${named}`
}

function labelOf(path: string): string {
  return path.startsWith(blocks) ? path.slice(blocks.length) : path
}
