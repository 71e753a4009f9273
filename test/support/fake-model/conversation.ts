/** The content of a request, without the wire format. */
export interface Conversation {
  system: string
  messages: Message[]
  /** Names of the tools on offer, in the order sent. */
  tools: string[]
}

/** Tool results belong to the user's side on every wire; adjacent result messages are one message here. */
export interface Message {
  role: 'user' | 'assistant'
  text: string
  images: number
  toolCalls: { id: string; name: string; input: unknown }[]
  toolResults: { id: string; text: string; isError: boolean }[]
}

export function message(role: Message['role'], fields: Partial<Omit<Message, 'role'>> = {}): Message {
  return { role, text: '', images: 0, toolCalls: [], toolResults: [], ...fields }
}

export function lastUserText(messages: Message[]): string {
  return messages.findLast(({ role, text }) => role === 'user' && text !== '')?.text ?? ''
}

/** The results that answer the assistant's last message. */
export function latestToolResults(messages: Message[]): Message['toolResults'] {
  const lastAssistant = messages.findLastIndex(({ role }) => role === 'assistant')
  return messages.slice(lastAssistant + 1).flatMap(({ toolResults }) => toolResults)
}

/** Wires that send one message per result would otherwise look different from those that send them together. */
export function foldToolResults(messages: Message[]): Message[] {
  const folded: Message[] = []
  for (const current of messages) {
    const previous = folded.at(-1)
    if (previous && isOnlyResults(previous) && isOnlyResults(current)) previous.toolResults.push(...current.toolResults)
    else folded.push(current)
  }
  return folded
}

function isOnlyResults({ text, images, toolResults }: Message): boolean {
  return toolResults.length > 0 && text === '' && images === 0
}
