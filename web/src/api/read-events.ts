export interface SentEvent {
  id: string | undefined
  name: string
  data: unknown
}

/** Server-sent events out of pieces of text, wherever those were cut. Comments and empty events are left out. */
export function createEventReader(): (piece: string) => SentEvent[] {
  let rest = ''
  return (piece) => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => toEvent(block) ?? [])
  }
}

function toEvent(block: string): SentEvent | undefined {
  let id: string | undefined
  let name = 'message'
  let data: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data = (data === undefined ? '' : `${data}\n`) + line.slice(6)
  }
  return data === undefined ? undefined : { id, name, data: JSON.parse(data) as unknown }
}
