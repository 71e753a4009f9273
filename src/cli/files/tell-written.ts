import type { AssetWrittenReply } from '../../protocol/asset-api.ts'
import type { Output } from '../output.ts'

export function tellWritten(output: Output, written: AssetWrittenReply, json: boolean | undefined): void {
  if (json) output.printJson(written)
  else {
    output.print(describe(written))
    if (!written.is_changed) return
    const undo = `familiar file undo ${JSON.stringify(written.path)}`
    output.print(output.style('dim', `Version ${written.version}. Back again: ${undo}`))
  }
}

function describe({ path, is_new, is_changed, count, restored, etag }: AssetWrittenReply): string {
  if (!is_changed) return `${path} is as it was.`
  if (etag === null) return `${path} is gone, as it was in version ${restored}.`
  if (restored !== undefined) return `${path} is as it was in version ${restored}.`
  if (is_new) return `Wrote ${path} (new).`
  return count === undefined ? `Wrote ${path}.` : `Edited ${path} in ${places(count)}.`
}

function places(count: number): string {
  return count === 1 ? 'one place' : `${count} places`
}
