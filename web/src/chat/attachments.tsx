import { useEffect, useRef, useState } from 'react'
import type { Attachment } from '../../../src/protocol/api.ts'
import { IconButton } from '../components/controls.tsx'
import { Icon } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

/** The files of a message before it is sent. */

/** In bytes, of all files of a message; the server refuses more. */
const maxBytes = 20_000_000
/** Per message; the server refuses more. */
const maxFiles = 10
/** Longer pasted text becomes a file: it is no text to edit in a field. */
const maxPastedCharacters = 20_000
/** The names of more files would fill the page. */
const maxNamed = 5

const picture = /^image\/(?:png|jpeg|gif|webp)$/

/** A file that was not attached, with the reason. */
export interface Refused {
  name: string
  reason: string
}

/** The size in bytes of a file in base64. */
const bytesOf = ({ data }: Attachment) => (data.length * 3) / 4 - (/=*$/.exec(data.slice(-2))?.[0].length ?? 0)

/**
 * Reads files to attach beside those that are attached already. The ones that do not fit or cannot be read are named, and the
 * others are attached all the same.
 */
export async function readAttachments(
  files: readonly File[],
  attached: readonly Attachment[],
): Promise<{ read: Attachment[]; refused: Refused[] }> {
  const refused: Refused[] = []
  const chosen: File[] = []
  let room = maxBytes - attached.reduce((sum, one) => sum + bytesOf(one), 0)
  for (const file of files) {
    if (file.size > maxBytes) refused.push({ name: file.name, reason: t.composer.tooLarge })
    else if (attached.length + chosen.length >= maxFiles) {
      refused.push({ name: file.name, reason: t.composer.tooMany(maxFiles) })
    } else if (file.size > room) refused.push({ name: file.name, reason: t.composer.noRoom })
    else {
      chosen.push(file)
      room -= file.size
    }
  }
  const readings = await Promise.allSettled(chosen.map(readAttachment))
  const read = readings.flatMap((reading, index) => {
    if (reading.status === 'fulfilled') return [reading.value]
    refused.push({ name: chosen[index]?.name ?? '', reason: t.composer.cannotRead })
    return []
  })
  return { read, refused }
}

async function readAttachment(file: File): Promise<Attachment> {
  return {
    name: file.name.replaceAll(/[/\\\p{Cc}]/gu, '_') || 'file',
    media_type: /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : 'application/octet-stream',
    data: await toBase64(file),
  }
}

function toBase64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error ?? new Error(t.composer.cannotRead))
    reader.readAsDataURL(file)
  })
}

/** The text as a file, where it is too long for the field. */
export function longTextAsFile(text: string, attached: readonly Attachment[]): File | undefined {
  if (text.length <= maxPastedCharacters) return undefined
  const names = new Set(attached.map(({ name }) => name))
  let count = 1
  while (names.has(t.composer.pastedName(count))) count += 1
  return new File([text], t.composer.pastedName(count), { type: 'text/plain' })
}

const kilobyte = 1_000

function sizeWords(bytes: number): string {
  if (bytes < kilobyte) return `${bytes} B`
  const units = ['kB', 'MB'] as const
  const isLarge = bytes >= kilobyte ** 2
  const value = bytes / (isLarge ? kilobyte ** 2 : kilobyte)
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[isLarge ? 1 : 0]}`
}

export function AttachmentList(props: {
  attachments: readonly Attachment[]
  refused: readonly Refused[]
  isReading: boolean
  onRemove(index: number): void
  onDismiss(): void
}) {
  const { attachments, refused, isReading, onRemove, onDismiss } = props
  return (
    <>
      {(attachments.length > 0 || isReading) && (
        <ul aria-label={t.composer.attachments} className="flex max-h-40 flex-wrap gap-1.5 overflow-y-auto px-3 pt-2.5">
          {attachments.map((file, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name.
            <li key={index} className="flex items-center gap-2 rounded-lg bg-sunken ps-2 text-sm">
              {picture.test(file.media_type) ? (
                <img
                  src={`data:${file.media_type};base64,${file.data}`}
                  alt=""
                  className="my-1 -ms-1 size-12 rounded-md object-cover"
                />
              ) : (
                <Icon name="block" size={16} />
              )}
              <span className="min-w-0 py-1">
                <span className="block max-w-48 truncate" title={file.name}>
                  {file.name}
                </span>
                <span className="block text-xs text-soft">{sizeWords(bytesOf(file))}</span>
              </span>
              <IconButton
                label={t.composer.remove(file.name)}
                className="size-7 pointer-coarse:size-9"
                onClick={() => onRemove(index)}
              >
                <Icon name="close" size={14} />
              </IconButton>
            </li>
          ))}
          {isReading && <li className="breathing px-2 py-1 text-sm text-soft">{t.composer.readingFiles}</li>}
        </ul>
      )}
      {refused.length > 0 && (
        <div role="alert" className="flex items-start gap-2 px-3 pt-2 text-sm text-bad">
          <div className="min-w-0 flex-1">
            {[...Map.groupBy(refused, ({ reason }) => reason)].map(([reason, files]) => (
              <p key={reason} className="break-words">
                {reason} {t.composer.notAttached(namesOf(files))}
              </p>
            ))}
          </div>
          <IconButton label={t.composer.dismiss} className="size-7" onClick={onDismiss}>
            <Icon name="close" size={14} />
          </IconButton>
        </div>
      )}
    </>
  )
}

function namesOf(files: readonly Refused[]): string {
  const names = files.slice(0, maxNamed).map(({ name }) => name)
  const more = files.length - names.length
  return names.join(', ') + (more > 0 ? t.composer.andMore(more) : '')
}

/** Over the whole window while files are dragged above it: they can be dropped anywhere. */
export function DropArea({ onFiles }: { onFiles(files: File[]): void }) {
  const [isOver, setIsOver] = useState(false)
  const handler = useRef(onFiles)
  handler.current = onFiles

  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true
    // The cursor leaves one element when it enters the next one.
    let depth = 0
    function onEnter(event: DragEvent): void {
      if (!hasFiles(event)) return
      depth += 1
      setIsOver(true)
    }
    function onLeave(event: DragEvent): void {
      if (!hasFiles(event)) return
      depth = Math.max(0, depth - 1)
      if (depth === 0) setIsOver(false)
    }
    function onOver(event: DragEvent): void {
      // Otherwise the browser opens the file in place of the page.
      if (hasFiles(event)) event.preventDefault()
    }
    function onDrop(event: DragEvent): void {
      depth = 0
      setIsOver(false)
      if (!hasFiles(event)) return
      event.preventDefault()
      handler.current([...(event.dataTransfer?.files ?? [])])
    }
    const listeners = { dragenter: onEnter, dragleave: onLeave, dragover: onOver, drop: onDrop }
    for (const [type, listener] of Object.entries(listeners)) window.addEventListener(type, listener as EventListener)
    return () => {
      for (const [type, listener] of Object.entries(listeners))
        window.removeEventListener(type, listener as EventListener)
    }
  }, [])

  if (!isOver) return null
  return (
    <div className="pointer-events-none fixed inset-0 z-40 flex items-center justify-center bg-ground/80 p-6">
      <p className="flex items-center gap-3 rounded-2xl border-2 border-dashed border-accent bg-raised px-8 py-6 text-lg font-medium shadow-xl">
        <Icon name="attach" size={24} /> {t.composer.dropFiles}
      </p>
    </div>
  )
}
