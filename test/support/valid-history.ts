import type { ModelMessage } from '../../src/protocol/messages.ts'

/** Every reason for which some provider would refuse this conversation; empty where none would. */
export function faultsOfHistory(messages: readonly ModelMessage[]): string[] {
  const faults: string[] = []
  const seenCalls = new Set<string>()
  if (messages[0] && messages[0].role !== 'user') faults.push('it does not begin with the user')
  messages.forEach((message, index) => {
    const previous = messages[index - 1]
    if (previous && previous.role === message.role) faults.push(`${index}: ${message.role} follows itself`)
    if (message.role === 'tool') {
      const calls = previous?.role === 'assistant' ? callIds(previous) : []
      const answers = message.results.map((result) => result.callId)
      if (calls.join() !== answers.join()) faults.push(`${index}: answers ${answers} do not match calls ${calls}`)
      if (message.results.some((result) => result.text.trim() === '')) faults.push(`${index}: empty result`)
      return
    }
    if (message.parts.length === 0) faults.push(`${index}: no parts`)
    if (message.parts.some((part) => part.type === 'text' && part.text.trim() === ''))
      faults.push(`${index}: empty text`)
    if (message.role !== 'assistant') return
    const calls = callIds(message)
    if (calls.length > 0 && messages[index + 1]?.role !== 'tool') faults.push(`${index}: calls without answers`)
    for (const id of calls) {
      if (seenCalls.has(id)) faults.push(`${index}: call ${id} twice`)
      seenCalls.add(id)
    }
    if (message.parts.every((part) => part.type === 'thinking')) faults.push(`${index}: nothing but thinking`)
  })
  return faults
}

function callIds(message: Extract<ModelMessage, { role: 'assistant' }>): string[] {
  return message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
}

export function textOfHistory(messages: readonly ModelMessage[]): string {
  return messages
    .flatMap((message) => (message.role === 'user' ? message.parts : []))
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
}
