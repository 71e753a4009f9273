import type { Json } from '../../src/protocol/json.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { said, toolOf } from './scripted-familiar.ts'

export interface GuardedTools {
  tools: Tool[]
  /** What has left the machine, in order. */
  sent: Json[]
  /** What the page says, from now on. */
  writePage(text: string): void
}

export const secret = 'the alarm code is 4711'

/** A page of somebody else, a drawer of the user's own, and a way out. */
export function createGuardedTools(): GuardedTools {
  const sent: Json[] = []
  let page = 'A page about gardens.'
  const send: Tool['run'] = async (input) => {
    sent.push(input)
    return said('Sent.')
  }
  const destination = 'https://mail.example'
  return {
    sent,
    writePage: (text) => {
      page = text
    },
    tools: [
      toolOf('read_page', async () => ({ ...said(page), label: 'untrusted' })),
      toolOf('open_drawer', async () => ({ ...said(secret), isPrivate: true })),
      toolOf('send', send, { effect: 'at-most-once', reach: () => ({ kind: 'acts', destination }) }),
      toolOf('erase_disk', send, { reach: () => ({ kind: 'asks', destination: 'exec:host' }) }),
    ],
  }
}
