import { type ChangeEvent, useRef, useState } from 'react'
import type { ImportProgressReply, ImportReply } from '../../../../src/protocol/memory-upkeep-api.ts'
import { send } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'
import { askWithProgress } from '../ask-with-progress.ts'

const trust = [
  { value: 'untrusted', label: 'Untrusted: read, never obeyed' },
  { value: 'owner', label: 'Mine: as good as my word' },
]

/** Everything out as a file, and in again. */
export function Transfer({ onImported }: { onImported(): void }) {
  const toasts = useToasts()
  const input = useRef<HTMLInputElement>(null)
  const [label, setLabel] = useState('untrusted')
  const [progress, setProgress] = useState<ImportProgressReply>()
  const [report, setReport] = useState<ImportReply>()

  async function download(format: 'jsonl' | 'markdown'): Promise<void> {
    try {
      const response = await send(`/api/v1/memories/export?format=${format}`, {})
      save(await response.blob(), `familiar-memories.${format === 'jsonl' ? 'jsonl' : 'md'}`)
    } catch (error) {
      toasts.failed(error)
    }
  }

  async function upload(event: ChangeEvent<HTMLInputElement>): Promise<void> {
    const file = event.target.files?.[0]
    // The same file again is a choice, too.
    event.target.value = ''
    if (!file) return
    setProgress({ line: 0, added: 0 })
    setReport(undefined)
    try {
      const isMarkdown = /\.(?:md|markdown|txt)$/i.test(file.name)
      setReport(
        await askWithProgress<ImportProgressReply, ImportReply>(`/memories/import?label=${label}`, {
          body: file,
          mediaType: isMarkdown ? 'text/markdown' : 'application/x-ndjson',
          onProgress: setProgress,
        }),
      )
      onImported()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setProgress(undefined)
    }
  }

  return (
    <Section title="Export and import">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => void download('jsonl')}>
          <Icon name="arrow_down" size={16} /> Everything, as JSON lines
        </Button>
        <Button onClick={() => void download('markdown')}>
          <Icon name="arrow_down" size={16} /> To read, as Markdown
        </Button>
      </div>
      <div className="mt-4 flex flex-wrap items-end gap-2">
        <SelectField
          label="What comes from elsewhere is"
          className="min-w-52"
          choices={trust}
          value={label}
          onChange={setLabel}
        />
        <input
          ref={input}
          type="file"
          accept=".jsonl,.ndjson,.md,.markdown,.txt"
          aria-label="A file to import"
          className="sr-only"
          tabIndex={-1}
          onChange={(event) => void upload(event)}
        />
        <Button isBusy={progress !== undefined} onClick={() => input.current?.click()}>
          <Icon name="arrow_up" size={16} /> Import a file
        </Button>
      </div>
      <div role="status" className="mt-3 text-sm text-soft">
        {progress && `Line ${progress.line}, ${progress.added} added …`}
        {report && <ImportReport report={report} />}
      </div>
    </Section>
  )
}

function ImportReport({ report: { added, known, problems, is_finished } }: { report: ImportReply }) {
  return (
    <>
      <p>
        Added {added.memories} memories, {added.edges} edges and {added.names} names; {known} were known already.
        {!is_finished && ' It was stopped: the same file again completes it.'}
      </p>
      {problems.count > 0 && (
        <Notice kind="warning">
          {problems.count} lines were passed over.{' '}
          {problems.first.map(({ line, message }) => `Line ${line}: ${message}`).join(' · ')}
        </Notice>
      )}
    </>
  )
}

function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
