import { useEffect, useState } from 'react'
import type { MediaPart } from '../../../src/protocol/messages.ts'
import { callRaw } from '../api/call.ts'
import { Icon } from '../components/icon.tsx'
import { openPreview } from '../preview/preview.tsx'
import { formatBytes } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

interface FileProps {
  part: MediaPart
  sessionId: string
}

/** A file of the conversation, and under it what the model got of it. */
export function MediaView({ part, sessionId }: FileProps) {
  const note = part.reading?.note
  return (
    <div className="flex flex-col items-start gap-1">
      {isPicture(part) ? (
        <Picture part={part} sessionId={sessionId} />
      ) : part.mediaType.startsWith('audio/') ? (
        <Audio part={part} sessionId={sessionId} />
      ) : (
        <FileButton part={part} sessionId={sessionId} />
      )}
      {note && <p className={`text-xs ${part.reading?.state === 'unreadable' ? 'text-warn' : 'text-soft'}`}>{note}</p>}
    </div>
  )
}

/** More pictures of one call are shown when they are opened. */
const maxInline = 4

/** The files of a call. */
export function ResultFiles({ media, sessionId }: { media: readonly MediaPart[]; sessionId: string }) {
  const Written = media.length > maxInline ? FileButton : ResultFile
  return media.map((part) => {
    const View = part.path === undefined ? MediaView : Written
    return <View key={part.path ?? part.hash} part={part} sessionId={sessionId} />
  })
}

/** A file that a tool wrote. Pictures and sound are seen and heard here, with their name below. */
function ResultFile({ part, sessionId }: FileProps) {
  if (!isPicture(part) && !part.mediaType.startsWith('audio/')) return <FileButton part={part} sessionId={sessionId} />
  return (
    <div className="flex flex-col items-start gap-1.5">
      <MediaView part={part} sessionId={sessionId} />
      <FileButton part={part} sessionId={sessionId} />
    </div>
  )
}

const isPicture = ({ mediaType }: MediaPart) => /^image\/(png|jpeg|gif|webp)$/.test(mediaType)

/** Name and size; a press opens the preview. */
function FileButton({ part, sessionId }: FileProps) {
  return (
    <button
      type="button"
      onClick={() => openPreview({ from: 'media', part, sessionId })}
      title={part.path ?? part.name}
      className="me-2 inline-flex min-h-9 max-w-full items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm hover:bg-sunken"
    >
      <Icon name="attach" size={16} />
      <span dir="auto" className="min-w-0 truncate font-medium">
        {part.name}
      </span>
      <span className="shrink-0 text-soft">{formatBytes(part.bytes)}</span>
    </button>
  )
}

function Picture({ part, sessionId }: FileProps) {
  const address = useMedia(part, sessionId)
  if (!address) return <p className="text-sm text-soft">{part.name}</p>
  return (
    <button
      type="button"
      aria-label={t.preview.enlarge(part.name)}
      title={t.preview.enlarge(part.name)}
      onClick={() => openPreview({ from: 'media', part, sessionId })}
      className="cursor-zoom-in rounded-xl"
    >
      <img src={address} alt={part.name} className="max-h-96 rounded-xl border border-line" />
    </button>
  )
}

function Audio({ part, sessionId }: FileProps) {
  const address = useMedia(part, sessionId)
  if (!address) return <p className="text-sm text-soft">{part.name}</p>
  // biome-ignore lint/a11y/useMediaCaption: a recording or speech of Familiar, whose text is next to it.
  return <audio controls src={address} aria-label={part.name} className="w-full min-w-64 max-w-md" />
}

/** Fetched, because a picture's own request would not carry the page's key. */
function useMedia({ hash, mediaType }: MediaPart, sessionId: string): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    const controller = new AbortController()
    let made: string | undefined
    callRaw('page.media', { id: sessionId, hash }, { signal: controller.signal })
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
