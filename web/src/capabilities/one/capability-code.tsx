import type { CapabilityFilesReply, CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { classes } from '../../components/classes.ts'
import { CodeBlock } from '../../components/code-block.tsx'
import { SelectField } from '../../components/field.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { useQueryValue } from '../../shell/use-query-value.ts'
import { fileTree } from './file-tree.ts'

/** The files of a version, as they were registered. */
export function CapabilityCode({ capability, path }: { capability: CapabilityReply; path: string }) {
  const { version, versions } = capability
  const [chosen, setChosen] = useQueryValue('version')
  const [file, setFile] = useQueryValue('file')
  const { data, error, refresh } = useAnswer<CapabilityFilesReply>(version === null ? null : `${path}/files`, {
    query: { version: chosen },
  })
  if (version === null) return <Empty title="Nothing is written yet">Its build has not registered a version.</Empty>
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>
  const shown = data.files.find((one) => one.path === file) ?? firstOf(data.files)
  return (
    <div className="gap-6 md:grid md:grid-cols-[13rem_minmax(0,1fr)]">
      <div className="mb-4">
        {versions.length > 1 && (
          <SelectField
            label="Version"
            className="mb-3"
            value={chosen || String(version)}
            onChange={(value) => setChosen(value === String(version) ? '' : value)}
            choices={versions.toReversed().map((one) => ({
              value: String(one.version),
              label: one.version === version ? `v${one.version}, serves` : `v${one.version}`,
            }))}
          />
        )}
        <ul aria-label="Files">
          {fileTree(data.files.map((one) => one.path)).map(({ path: place, name, depth, isFolder }) => (
            // The tree is as deep as its folders.
            <li key={place} style={{ paddingInlineStart: `${depth}rem` }}>
              {isFolder ? (
                <span className="block px-2 py-1 text-sm text-soft">{name}/</span>
              ) : (
                <button
                  type="button"
                  aria-current={place === shown?.path ? 'true' : undefined}
                  onClick={() => setFile(place)}
                  className={classes(
                    'block min-h-8 w-full rounded-lg px-2 py-1 text-start font-mono text-[0.8125rem] hover:bg-sunken',
                    place === shown?.path ? 'bg-sunken' : 'text-soft',
                  )}
                >
                  {name}
                </button>
              )}
            </li>
          ))}
        </ul>
      </div>
      <div className="min-w-0">{shown && <FileView file={shown} />}</div>
    </div>
  )
}

function FileView({ file }: { file: CapabilityFilesReply['files'][number] }) {
  if (file.text === null) return <p className="text-soft">{file.bytes} bytes that are no text.</p>
  if (file.path.endsWith('.md')) return <Markdown text={file.text} />
  return <CodeBlock code={file.text} language={file.path} />
}

/** The program itself, where it can be told. */
function firstOf(files: CapabilityFilesReply['files']) {
  return files.find(({ path }) => /^main\.(?:py|js)$/.test(path)) ?? files[0]
}
