import type { Json } from '../../src/protocol/messages.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { said, toolOf } from './scripted-familiar.ts'

export interface GuardedTools {
  tools: Tool[]
  /** Data that left the machine, in order. */
  sent: Json[]
  /** The content of the page from now on. */
  writePage(text: string): void
}

export const secret = 'the alarm code is 4711'

/** A web page of a stranger, private data of the user, and a way to send. */
export function createGuardedTools({
  destination = 'https://mail.example',
}: {
  /** Of `send`. */
  destination?: string | null
} = {}): GuardedTools {
  const sent: Json[] = []
  let page = 'A page about gardens.'
  const send: Tool['run'] = async (input) => {
    sent.push(input)
    return said('Sent.')
  }
  return {
    sent,
    writePage: (text) => {
      page = text
    },
    tools: [
      toolOf('read_page', async () => ({ ...said(page), label: 'untrusted' })),
      toolOf('open_drawer', async () => ({ ...said(secret), isPrivate: true })),
      toolOf('send', send, { effect: 'at-most-once', reach: () => ({ kind: 'reach', destination }) }),
      toolOf('erase_disk', send, { reach: () => ({ kind: 'host', destination: 'exec:host' }) }),
    ],
  }
}
