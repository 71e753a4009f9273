import { useRef } from 'react'
import { Button } from '../components/button.tsx'
import { useToasts } from '../components/toast.tsx'
import { useWho } from '../shell/who.ts'
import type { PrivateEntry } from './private-entry.ts'
import { openPrivateStore } from './private-store.ts'
import { newerOf, readFile, toFile } from './transfer.ts'

/** The one way in which all of it leaves the browser: as a file, by the user's hand. */
export function TransferButtons({ entries }: { entries: readonly PrivateEntry[] }) {
  const { name } = useWho()
  const toasts = useToasts()
  const picker = useRef<HTMLInputElement>(null)

  function save(): void {
    const now = new Date().toISOString()
    const address = URL.createObjectURL(new Blob([toFile(entries, now)], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = address
    link.download = `browser-memory-${now.slice(0, 10)}.json`
    link.click()
    URL.revokeObjectURL(address)
  }

  async function bring(file: File): Promise<void> {
    try {
      const { entries: brought, leftOut } = readFile(await file.text(), new Date().toISOString())
      const taken = newerOf(entries, brought)
      await (await openPrivateStore(name)).put(taken)
      const counts = [
        `${taken.length} of ${brought.length} entries were new or newer.`,
        ...(leftOut > 0 ? [`${leftOut} could not be read.`] : []),
        ...(taken.length > 0 ? ['None of them is shared yet.'] : []),
      ]
      toasts.done(counts.join(' '))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <>
      <Button disabled={entries.length === 0} onClick={save}>
        Export
      </Button>
      <Button onClick={() => picker.current?.click()}>Import</Button>
      <input
        ref={picker}
        type="file"
        accept="application/json,.json"
        className="hidden"
        aria-label="A file that was exported"
        onChange={(event) => {
          const [file] = event.target.files ?? []
          if (file) void bring(file)
          event.target.value = ''
        }}
      />
    </>
  )
}
