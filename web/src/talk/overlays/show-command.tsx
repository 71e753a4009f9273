import type { ReactNode } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import { OutputText } from '../../tools/output-text.tsx'
import { inputText } from './input-text.ts'
import type { OverlayProps } from './overlay.ts'
import { readCommand } from './read-command.ts'

export function showCommand({ tool }: OverlayProps): ReactNode {
  const command = inputText(tool.input, 'command')
  if (command === '') return null
  const outcome = tool.result && readCommand(tool.result.text)
  return (
    <div className="space-y-2 text-sm">
      <CodeBlock code={command} language="bash" />
      {outcome?.output && <OutputText title="Printed" text={outcome.output} />}
      {outcome?.errors && <OutputText title="Complained" text={outcome.errors} />}
      {tool.result && (
        <p className={tool.result.isError ? 'text-bad' : 'text-soft'}>{outcome ? outcome.end : tool.result.text}</p>
      )}
    </div>
  )
}
