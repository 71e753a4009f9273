/**
 * The same as familiar_relay.py, for a machine without Python: from the sandbox's own loopback to the one socket that
 * leads out, as the first process of the sandbox.
 */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { constants } from 'node:os'

const [port, path, program, ...rest] = process.argv.slice(2)

const server = createServer({ allowHalfOpen: true }, (inner) => {
  const outer = connect({ path, allowHalfOpen: true })
  const drop = () => {
    inner.destroy()
    outer.destroy()
  }
  inner.on('error', drop)
  outer.on('error', drop)
  inner.pipe(outer)
  outer.pipe(inner)
})

server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(program, rest, { stdio: ['inherit', 'inherit', 'inherit', 3] })
  child.on('error', (error) => {
    process.stderr.write(`${program}: ${error.message}\n`)
    process.exit(error.code === 'ENOENT' ? 127 : 126)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
})
