#!/bin/sh
# Create the database of Knotwork, its owner, who is no superuser, and the extension pgvector.
# The image of PostgreSQL runs this once, when its volume is empty.
set -eu

psql --username="$POSTGRES_USER" --dbname=postgres --no-psqlrc --set=ON_ERROR_STOP=1 \
    --set=password="$KNOTWORK_PASSWORD" <<'SQL'
CREATE ROLE knotwork LOGIN PASSWORD :'password';
CREATE DATABASE knotwork OWNER knotwork ENCODING 'UTF8' TEMPLATE template0;
\connect knotwork
CREATE EXTENSION vector;
SQL
