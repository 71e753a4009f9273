import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Contestant, familiar, familiarEnv, loop, prepareHome } from '../contestants/contestant.ts'

const own = (file: string) => join(import.meta.dirname, 'contestants', file)

/** Its name is a key of `peerCharacters` as well. */
export const peerNames = [
  'bare loop',
  'AI SDK',
  'Mastra, memory',
  'Mastra, memory and recall',
  'LangGraph, SQLite',
  'Familiar, in process',
  'Familiar, conversations not kept',
  'Familiar',
] as const
export type PeerName = (typeof peerNames)[number]

/** All of them in fresh folders below `folder`, with the same system prompt and tool where they take one. */
export async function createPeerContestants(modelUrl: string, folder: string): Promise<Contestant[]> {
  const folderOf = (name: string) => {
    const made = join(folder, name)
    mkdirSync(made, { recursive: true })
    return made
  }
  const home = async (name: string, keepsConversations: boolean) => {
    await prepareHome(folderOf(name), modelUrl, { keepsConversations })
    return join(folder, name)
  }
  const inProcess = await home('in-process', true)
  const of = (name: PeerName, file: string, more: string[] = []) =>
    loop({ name, file, modelUrl, folder: folderOf(name.replaceAll(/\W/g, '-')), more: ['tool', ...more] })
  return [
    of('bare loop', 'bare-loop.ts'),
    of('AI SDK', 'ai-sdk-loop.ts'),
    of('Mastra, memory', own('mastra.ts')),
    of('Mastra, memory and recall', own('mastra.ts'), ['recall']),
    of('LangGraph, SQLite', own('langgraph.ts')),
    loop({ name: 'Familiar, in process', file: own('familiar-in-process.ts'), modelUrl, env: familiarEnv(inProcess) }),
    familiar('Familiar, conversations not kept', await home('not-kept', false)),
    familiar('Familiar', await home('daemon', true)),
  ]
}
