import { modelUrl, offersTool, serveLoop, systemPrompt, tool } from './loop-server.ts'

interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

type ToolMessage =
  | { role: 'assistant'; content: string | null; tool_calls: ToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

interface Delta {
  content?: string
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[]
}

const { name, description } = tool
const parameters = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }
const tools = [{ type: 'function', function: { name, description, parameters } }]

serveLoop<ToolMessage>(async (messages) => {
  for (;;) {
    const { text, calls } = await ask(messages)
    if (calls.length === 0) return text
    messages.push({ role: 'assistant', content: text || null, tool_calls: calls })
    for (const { id, function: called } of calls)
      messages.push({ role: 'tool', tool_call_id: id, content: tool.run(JSON.parse(called.arguments)) })
  }
})

async function ask(messages: readonly unknown[]): Promise<{ text: string; calls: ToolCall[] }> {
  const response = await fetch(`${modelUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({
      model: 'fake-model',
      stream: true,
      messages: [{ role: 'system', content: systemPrompt }, ...messages],
      ...(offersTool && { tools }),
    }),
  })
  if (!response.ok || !response.body) throw new Error(`The model answered ${response.status}`)
  let text = ''
  let rest = ''
  const calls: ToolCall[] = []
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const event = JSON.parse(line.slice(6)) as { choices: { delta?: Delta }[] }
      const delta = event.choices[0]?.delta
      text += delta?.content ?? ''
      for (const part of delta?.tool_calls ?? []) addTo(calls, part)
    }
  }
  return { text, calls }
}

function addTo(calls: ToolCall[], part: NonNullable<Delta['tool_calls']>[number]): void {
  const call: ToolCall = calls[part.index] ?? { id: '', type: 'function', function: { name: '', arguments: '' } }
  calls[part.index] = call
  call.id ||= part.id ?? ''
  call.function.name += part.function?.name ?? ''
  call.function.arguments += part.function?.arguments ?? ''
}
