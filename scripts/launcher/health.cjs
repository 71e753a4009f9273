'use strict'

// Exits with 0 if the daemon of this home answers, otherwise with 1. A container's health check runs it every half
// minute, so it loads nothing of the program.

const fs = require('fs')
const http = require('http')
const os = require('os')
const path = require('path')

const patienceMs = 10000
const home = process.env.FAMILIAR_HOME || path.join(os.homedir(), '.familiar')

function end(problem) {
  if (problem) process.stderr.write(`Familiar does not answer: ${problem}\n`)
  process.exit(problem ? 1 : 0)
}

try {
  const record = JSON.parse(fs.readFileSync(path.join(home, 'run', 'daemon.json'), 'utf8'))
  if (!record.url) end('it is still starting')
  const request = http.get(new URL('/readyz', record.url), (response) => {
    response.resume()
    end(response.statusCode === 200 ? '' : `/readyz says ${response.statusCode}`)
  })
  request.on('error', (error) => end(error.message))
  request.setTimeout(patienceMs, () => end('no answer'))
} catch (error) {
  end(error.code === 'ENOENT' ? `no daemon runs in ${home}` : error.message)
}
