import type { ReactNode } from 'react'
import { Link } from '../shell/link.tsx'

const citation = /\[memory:([0-9a-f-]{8,40})\]/g

/** Text with its citations as links to the memories that they name, so that every claim can be looked up. */
export function citedText(text: string): ReactNode {
  if (!text.includes('[memory:')) return text
  const parts: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(citation)) {
    parts.push(text.slice(end, match.index).trimEnd())
    parts.push(<Citation key={match.index} id={match[1] ?? ''} />)
    end = match.index + match[0].length
  }
  return [...parts, text.slice(end)]
}

function Citation({ id }: { id: string }) {
  return (
    <Link
      href={`/memory/${id}`}
      title="Where this is from"
      aria-label="Where this is from"
      className="mx-0.5 inline-block rounded bg-accent-soft px-1 align-super text-[0.65em] leading-tight no-underline"
    >
      memory
    </Link>
  )
}
