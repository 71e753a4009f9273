import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Files and git repositories over https, with a certificate that only those trust who are given `env`. */
export async function openToolServer(files: ReadonlyMap<string, Uint8Array>) {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-tool-server-'))
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const repositories = join(directory, 'repositories')
  mkdirSync(repositories)
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    const path = new URL(request.url ?? '', 'https://server').pathname
    const content = files.get(path)
    if (content) response.end(content)
    else if (path.includes('.git/')) answerGit(repositories, request, response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    env: { NODE_EXTRA_CA_CERTS: cert, GIT_SSL_CAINFO: cert },
    /** A repository of one commit with these files, and these links. */
    writeRepository(
      name: string,
      content: Readonly<Record<string, string>>,
      links: Readonly<Record<string, string>> = {},
    ) {
      const work = join(directory, name)
      mkdirSync(work)
      for (const [path, text] of Object.entries(content)) {
        mkdirSync(dirname(join(work, path)), { recursive: true })
        writeFileSync(join(work, path), text)
      }
      for (const [path, target] of Object.entries(links)) symlinkSync(target, join(work, path))
      const person = ['-c', 'user.name=Max', '-c', 'user.email=max@example.org', '-c', 'commit.gpgsign=false']
      const git = (...words: string[]) => execFileSync('git', [...person, ...words], { cwd: work, stdio: 'ignore' })
      git('init', '--quiet')
      git('add', '-A')
      git('commit', '--quiet', '-m', 'a tool')
      git('clone', '--quiet', '--bare', '.', join(repositories, `${name}.git`))
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(directory, { recursive: true })
    },
  }
}

/** By git's own program for servers, which speaks CGI. */
function answerGit(repositories: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '', 'https://server')
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  })
  request.pipe(backend.stdin)
  const chunks: Buffer[] = []
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  backend.on('close', () => {
    const answer = Buffer.concat(chunks)
    const end = answer.indexOf('\r\n\r\n')
    const headers = answer.subarray(0, end).toString().split('\r\n')
    const status = headers.find((line) => line.startsWith('Status: '))?.slice(8, 11) ?? '200'
    for (const line of headers) {
      const [name = '', value = ''] = line.split(': ')
      if (name !== 'Status' && name !== '') response.setHeader(name, value)
    }
    response.writeHead(Number(status)).end(answer.subarray(end + 4))
  })
}
