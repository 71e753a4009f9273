import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

/** While it is at work the program waits for it; otherwise it keeps nobody from ending. */
export function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  const sockets = child.stdio.filter((stream) => stream instanceof Socket)
  for (const handle of [child, ...sockets]) {
    if (isReferenced) handle.ref()
    else handle.unref()
  }
}
