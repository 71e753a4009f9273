import { useEffect, useState } from 'react'
import type { MediaPart } from '../../../src/protocol/message.ts'
import { send } from '../api/ask.ts'
import { Icon } from '../components/icon.tsx'

/** A file of the conversation: seen or heard here where that is harmless, and always there to be kept. */
export function MediaView({ part, sessionId }: { part: MediaPart; sessionId: string }) {
  const address = useMedia(part, sessionId)
  if (!address) return <p className="text-sm text-soft">{part.name}</p>
  if (/^image\/(png|jpeg|gif|webp)$/.test(part.mediaType))
    return <img src={address} alt={part.name} className="max-h-96 rounded-xl border border-line" />
  if (part.mediaType.startsWith('audio/')) {
    // biome-ignore lint/a11y/useMediaCaption: speech of Familiar; its words stand beside it.
    return <audio controls src={address} aria-label={part.name} className="w-full max-w-md" />
  }
  return (
    <a
      href={address}
      download={part.name}
      className="inline-flex items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm hover:bg-sunken"
    >
      <Icon name="arrow_down" size={16} /> {part.name}
    </a>
  )
}

/** Fetched, because a picture's own request would not carry the page's key. */
function useMedia({ hash, mediaType }: MediaPart, sessionId: string): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const controller = new AbortController()
    let made: string | undefined
    send(`/api/v1/sessions/${sessionId}/media/${hash}`, { signal: controller.signal })
      .then((response) => response.arrayBuffer())
      .then((bytes) => {
        made = URL.createObjectURL(new Blob([bytes], { type: mediaType }))
        setAddress(made)
      })
      .catch(() => undefined)
    return () => {
      controller.abort()
      if (made) URL.revokeObjectURL(made)
    }
  }, [hash, mediaType, sessionId])
  return address
}
