FROM alpine:3.19
RUN apk add --no-cache bash jq
WORKDIR /tool
COPY runner.sh .
ENTRYPOINT ["bash", "runner.sh"]
