interface ToldMemory {
  id: string
  day: string
  /** Such as "fact; tags: home"; empty where there is nothing to say. */
  marks: string
  text: string
  isUntrusted: boolean
}

export interface ToldMemories {
  /** Null where nothing was counted. */
  count: number | null
  memories: ToldMemory[]
}

const line = /^\[memory:([0-9a-f-]{8,40})\] (\d{4}-\d{2}-\d{2}) (\[untrusted\] )?(?:\(([^)]*)\) )?(.*)$/
const counted = /^Count: (\d+)$/

/** What the tools of memory answer, memory by memory. */
export function readMemories(text: string): ToldMemories {
  const memories: ToldMemory[] = []
  let count: number | null = null
  for (const one of text.split('\n')) {
    const number = counted.exec(one)?.[1]
    const [, id, day, untrusted, marks = '', words = ''] = line.exec(one) ?? []
    const last = memories.at(-1)
    if (number !== undefined) count = Number(number)
    else if (id !== undefined && day !== undefined) {
      const isUntrusted = untrusted !== undefined
      memories.push({ id, day, marks, text: isUntrusted ? unquoted(words) : words, isUntrusted })
    } else if (last && one.startsWith('  ')) last.text += `\n${one.slice(2)}`
  }
  return { count, memories }
}

/** What is not to be trusted stands in quotes for the model. */
function unquoted(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : text
  } catch {
    return text
  }
}
