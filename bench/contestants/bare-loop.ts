import { modelUrl, serveLoop, systemPrompt } from './loop-server.ts'

serveLoop(async (messages) => {
  const response = await fetch(`${modelUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({
      model: 'fake-model',
      stream: true,
      messages: [{ role: 'system', content: systemPrompt }, ...messages],
    }),
  })
  if (!response.body) throw new Error(`The model answered ${response.status}`)
  let text = ''
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const event = JSON.parse(line.slice(6)) as { choices: { delta?: { content?: string } }[] }
      text += event.choices[0]?.delta?.content ?? ''
    }
  }
  return text
})
