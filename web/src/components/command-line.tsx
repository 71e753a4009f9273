import { CopyButton } from './copy-button.tsx'

/** A command for a terminal on the machine that Familiar runs on: what the page may not do by itself (SEC-4). */
export function CommandLine({ command }: { command: string }) {
  return (
    <span className="flex items-center gap-2 rounded-lg bg-sunken py-0.5 pr-1 pl-3">
      <code className="min-w-0 flex-1 py-1 font-mono text-[0.8125rem]">{command}</code>
      <CopyButton text={command} />
    </span>
  )
}
